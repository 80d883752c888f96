// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where things go in the one address space that guest and host share. Guest mappings live in ranges of their
// own, clear of the host's (0x55.. and 0x7f..) and of AddressSanitizer's shadow. Executable images and the
// code cache lie below 2 GiB: rip-relative operands stay rip-relative in the copies, and a code address is a
// constant of 32 bits wherever translated code compares or pushes one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdb::guest {

// Programs linked to fixed addresses.
inline constexpr uint64_t kLowBegin = 0x10000;
inline constexpr uint64_t kLowEnd = 0x7E000000;
// Everything else.
inline constexpr uint64_t kHighBegin = 0x110000000000;
inline constexpr uint64_t kHighEnd = 0x500000000000;

inline constexpr uint64_t kPage = 4096;
inline constexpr uint64_t kImageSpan = 0x30000000; // of the window, for images
// The code cache. Nothing of the guest's begins with these bytes, so that a search finds an address of it.
inline constexpr uint64_t kCachePlace = 0x50000000;
inline constexpr size_t kCacheSize = 256u << 20;

// The table of indirect branches is addressed absolutely: below 2 GiB.
inline constexpr uint64_t kTablePlace = 0x7F000000;

struct Layout {
  uint64_t window = 0;   // begin of the images
  uint64_t cache = 0;    // the code cache
  uint64_t mmap_top = 0; // anonymous mappings grow down from here
  uint64_t stack_top = 0;
  uint64_t brk = 0; // where brk begins if not behind the program
  uint64_t seed = 0;
};

// The same seed gives the same layout. `randomise` false: the layout without any offset.
Layout make_layout(uint64_t seed, bool randomise);

inline uint64_t page_down(uint64_t address) {
  return address & ~(kPage - 1);
}
inline uint64_t page_up(uint64_t address) {
  return (address + kPage - 1) & ~(kPage - 1);
}

} // namespace rdb::guest
