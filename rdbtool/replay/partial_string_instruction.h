// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of a string instruction that was done before it faulted.
#pragma once

#include "rdbtool/engine/instructions/string_instruction.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/trace/format/input.h"

#include <optional>

namespace rdb::replay {

struct PartialStringInstruction {
  engine::StringInstruction instruction;
  bool down = false;   // from higher addresses to lower ones
  uint64_t count = 0;  // iterations that were done
  uint64_t source = 0; // addresses of the first element
  uint64_t destination = 0;

  // What it wrote: the lowest address, and the number of bytes (0 if it only read).
  uint64_t written_begin() const;
  uint64_t written_size() const;
};

// The machine is about to execute the instruction, and `after` is what it had left. Nothing if that is no
// string instruction, or cannot have left this.
std::optional<PartialStringInstruction> partial_string_instruction(guest::Machine& machine,
                                                                   const trace::PartialInput& after);

// Writes to memory again what it wrote. False if some of that memory cannot be read or written.
bool repeat_writes_of(guest::Machine& machine, const PartialStringInstruction& part);

} // namespace rdb::replay
