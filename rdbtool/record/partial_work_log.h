// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes down what an instruction had done when it faulted. A replay does not execute that instruction: it
// finds the signal in the log, and needs the state that the instruction left.
#pragma once

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/trace/format/input.h"

#include <optional>
#include <vector>

namespace rdb::record {

class PartialWorkLog {
public:
  // The registers are those at the fault. False: the instruction has done nothing, or all of it.
  bool find(guest::Machine& machine, const guest::PendingSignal& signal);

  const trace::PartialInput& input() const { return input_; }
  const std::vector<MemoryWrite>& writes() const { return writes_; }

private:
  void keep(guest::Machine& machine, uint64_t begin, uint64_t end);

  trace::PartialInput input_;
  std::vector<std::byte> vectors_;
  std::vector<std::vector<uint8_t>> bytes_;
  std::vector<MemoryWrite> writes_;
};

} // namespace rdb::record
