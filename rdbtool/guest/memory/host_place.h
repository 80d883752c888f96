// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where rdb itself lies in the address space that it shares with the guest. "Is this address rdb's or the
// program's?" is asked here and nowhere else.
//
// The problem: programs want the addresses that the kernel would give them, and some want far more. The
// shadow memory of AddressSanitizer, ThreadSanitizer and MemorySanitizer has fixed places all over the lower
// half of the address space. rdb cannot lie below or between them unless it knows about each.
//
// The trick: a native process has two areas that no program can ask for by a fixed address, because the
// kernel fills them at random: one terabyte after 0x555555554000, where a position-independent program and
// its heap are, and the last terabyte, where libraries and stacks are. rdb is such a process. It stays where
// the kernel has put it, in these two areas, and the guest gets everything else.
//
// Some machines use more random bits (vm.mmap_rnd_bits=32), and an unlimited stack turns the order of
// mappings around. There rdb starts itself again without random addresses. Where that is forbidden, the two
// areas become those that rdb does lie in, and the guest has less.
#pragma once

#include <cstdint>

namespace rdb::guest {

inline constexpr uint64_t kUserEnd = 0x7FFFFFFFF000;

struct HostPlace {
  uint64_t low_begin = 0x555555554000; // the program rdb, and its heap
  uint64_t low_size = 0x568000000000 - 0x555555554000;
  uint64_t high_begin =
      0x7EF000000000; // libraries, stacks and what rdb maps, up to the end of the user's half
};

extern HostPlace host_place;

[[gnu::always_inline]] inline bool is_host(uint64_t address) {
  return address - host_place.low_begin < host_place.low_size || address >= host_place.high_begin;
}

// How many bytes from this address on are not rdb's: at most `size`.
uint64_t size_before_host(uint64_t address, uint64_t size);

// Where the guest's stack and mappings end, as rdb lies now.
uint64_t top_for_guest();

// Finds out where rdb lies, first thing in main(). It may start rdb again, with these arguments.
void settle_host_place(char** argv);

} // namespace rdb::guest
