// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replay shows what a call wrote by reading guest memory when the call is over. Where other threads run in
// the meantime they may change those bytes: so the kernel gets a copy of them, and what guest memory does not
// say any more afterwards goes into the log.
#pragma once

#include "rdbtool/guest/process.h"

#include <sys/uio.h>
#include <vector>

namespace rdb::record {

class OutputBytes {
public:
  // What an earlier call has left, which was not made after all.
  void forget() { taken_ = false; }
  // Before the call: copies what it is to write and lets the kernel's `arguments` say so.
  void take(guest::Process& process, const guest::SystemCall& call, SyscallArgs& arguments);
  // After it, once: whether guest memory holds something else than what was written, which is bytes().
  bool differ(guest::Process& process, const guest::SystemCall& call, int64_t result);
  const std::vector<uint8_t>& bytes() const { return bytes_; }

private:
  bool taken_ = false;
  std::vector<uint8_t> bytes_;
  iovec vector_{};
};

} // namespace rdb::record
