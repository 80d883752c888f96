// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb run --lockstep: checks the full-speed engine against the stepping one. Before each piece of the run a
// copy of the whole process (fork) executes it one instruction at a time; then the process itself does so at
// full speed, and all that the guest can see is compared. System calls happen between the pieces, so only
// once.
#pragma once

#include "rdbtool/guest/process/machine.h"

namespace rdb::guest {

class Lockstep {
public:
  explicit Lockstep(Machine& machine) : machine_(machine) {}

  // As Engine::run(), in pieces. Throws at the first difference.
  engine::Stop run(uint64_t limit);

private:
  uint64_t next_length();

  Machine& machine_;
  uint64_t random_ = 88172645463325252ull;
  uint64_t since_whole_ = 0; // instructions since all of memory was compared
  uint64_t memory_size_ = 0; // bytes compared then
  int64_t last_copy_ = 0;    // the process that stepped through the last piece, to be waited for
};

} // namespace rdb::guest
