// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A child made by vfork (posix_spawn) shares its parent's memory until it execs or ends. Here it runs on a
// copy. When it is done, it hands the pages that it changed to its parent, which waits for it, together with
// the calls that changed mappings. The parent sees what it would have seen natively, and all of it is input
// of the parent's own call.
#pragma once

#include "rdbtool/guest/calls/computed_answer.h"
#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/memory/address_space.h"

#include <string>
#include <vector>

namespace rdb::guest {

class VforkMemory {
public:
  // In the parent, before the fork.
  VforkMemory();
  ~VforkMemory();
  VforkMemory(const VforkMemory&) = delete;
  VforkMemory& operator=(const VforkMemory&) = delete;

  // In the child: a memory call that it has made, with success.
  struct Call {
    SystemCall call; // as its parent has to make it
    int64_t result = 0;
    std::string file; // that was mapped; empty: none
    uint64_t device = 0;
    uint64_t inode = 0;
  };
  void note(const SystemCall& call, int64_t result, const AddressSpace& space);

  // In the child, when it is about to exec or to end. The last one counts.
  void hand_back(const AddressSpace& space);

  // In the parent: the memory calls of the child; and when they have been made here too, the bytes that
  // differ from its own.
  std::vector<Call> calls() const;
  std::vector<ComputedAnswer::Write> take(AddressSpace& space) const;

private:
  bool is_noted(const Mapping& mapping) const;

  int fd_;
  std::vector<Call> noted_;
};

} // namespace rdb::guest
