// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replay shows what a call wrote by reading guest memory when the call is over. Other threads may change
// those bytes in the meantime. So the kernel is given a copy, and if guest memory no longer holds those bytes
// afterwards, they are logged.
#pragma once

#include "rdbtool/guest/process/machine.h"

#include <sys/uio.h>
#include <vector>

namespace rdb::record {

class OutputBytes {
public:
  // What an earlier call has left, which was not made after all.
  void forget() { taken_ = false; }
  // Before the call: copies what it is to write and lets the kernel's `arguments` say so.
  void take(guest::Machine& machine, const guest::SystemCall& call, SyscallArgs& arguments);
  // After it, once: whether guest memory holds something else than what was written, which is bytes().
  bool differ(guest::Machine& machine, const guest::SystemCall& call, int64_t result);
  const std::vector<uint8_t>& bytes() const { return bytes_; }

private:
  bool taken_ = false;
  std::vector<uint8_t> bytes_;
  iovec vector_{};
};

} // namespace rdb::record
