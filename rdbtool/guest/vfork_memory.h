// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A child made by vfork (posix_spawn) shares its parent's memory until it execs or ends. Here it runs on a
// copy, and hands the pages that it has changed back to its parent, which waits for it: the parent sees what
// it would have seen, and that is an input of its own call.
#pragma once

#include "rdbtool/guest/hidden_host.h"

#include <vector>

namespace rdb::guest {

class VforkMemory {
public:
  // In the parent, before the fork.
  VforkMemory();
  ~VforkMemory();
  VforkMemory(const VforkMemory&) = delete;
  VforkMemory& operator=(const VforkMemory&) = delete;

  // In the child, when it is about to exec or to end. The last one counts.
  void hand_back(const AddressSpace& space);

  // In the parent: the bytes that differ from its own.
  std::vector<Answer::Write> take(AddressSpace& space);

private:
  int fd_;
};

} // namespace rdb::guest
