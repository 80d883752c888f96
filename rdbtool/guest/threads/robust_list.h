// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list of locks that a thread holds, which are marked when it dies; see set_robust_list(2).
#pragma once

#include "rdbtool/base/types.h"

#include <cstddef>
#include <cstdint>

namespace rdb::guest {

// Calls `each` with the address of every lock's word, and whether the lock inherits priorities, until it
// returns false. `read` reads guest memory: false if there is none.
template <class Read, class Each>
void walk_robust_list(GuestAddr list, Read&& read, Each&& each) {
  constexpr size_t kMost = 2048; // as in the kernel
  struct {
    uint64_t first;
    int64_t offset;
    uint64_t in_progress;
  } head;
  if (list.value == 0 || !read(list, &head, sizeof head)) return;
  auto word = [&](uint64_t entry) { return GuestAddr((entry & ~1ull) + static_cast<uint64_t>(head.offset)); };
  uint64_t entry = head.first;
  for (size_t i = 0; i < kMost && (entry & ~1ull) != list.value; ++i) {
    uint64_t next;
    bool readable = read(GuestAddr(entry & ~1ull), &next, sizeof next);
    // The lock that is just being taken or given up comes last.
    if (entry != head.in_progress && !each(word(entry), (entry & 1) != 0)) break;
    if (!readable) break;
    entry = next;
  }
  if (head.in_progress != 0) each(word(head.in_progress), (head.in_progress & 1) != 0);
}

} // namespace rdb::guest
