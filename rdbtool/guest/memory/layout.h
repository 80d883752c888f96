// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where things go in the one address space that guest and host share. The guest has all of it but for a few
// reserved ranges: where rdb itself lies (host_place.h), and some memory below 2 GiB.
//
// Executable images and the code cache lie below 2 GiB: rip-relative operands stay rip-relative in the
// copies, and a code address is a constant of 32 bits wherever translated code compares or pushes one. So
// that the cache is out of the way of programs linked to fixed addresses, it begins after those of valgrind
// and sbcl (0x50000000, 0x58000000), and everything of rdb's ends before AddressSanitizer's shadow
// (0x7fff8000).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rdb::guest {

inline constexpr uint64_t kPage = 4096;
inline constexpr uint64_t kLowBegin = 0x10000;     // the first address that a program can map
inline constexpr uint64_t kImageSpan = 0x30000000; // of the window, for images
inline constexpr size_t kCacheSize = 256u << 20;   // the code cache
// For code that rdb brings into the guest's world. No mapping of the guest's is ever there.
inline constexpr uint64_t kOwnCodeBegin = 0x70000000;
inline constexpr uint64_t kOwnCodeEnd = 0x78000000;
// Of the second engine, which runs what debug code calls: its code cache, and a place to which a call returns
// and where nothing ever is.
inline constexpr uint64_t kNestedCachePlace = 0x7E000000;
inline constexpr size_t kNestedCacheSize = 14u << 20;
inline constexpr uint64_t kNestedReturn = 0x7EFFFFF0;
// The tables of indirect branches are addressed absolutely.
inline constexpr uint64_t kTablePlace = 0x7F000000;
inline constexpr uint64_t kNestedTablePlace = kTablePlace + (1u << 20);
// Of another one, which logs loads as well as stores.
inline constexpr uint64_t kLoadsTablePlace = kNestedTablePlace + (1u << 20);
inline constexpr uint64_t kLoadsCachePlace = 0x7F400000;
inline constexpr size_t kLoadsCacheSize = 8u << 20;
inline constexpr uint64_t kLowHostEnd = 0x7FC00000; // the end of all that
static_assert(kLoadsCachePlace + kLoadsCacheSize == kLowHostEnd);

// Which rules a layout follows. A trace says under which one it was recorded.
enum class LayoutVersion : uint8_t {
  two_ranges = 1,  // the guest has 0x10000-0x7e000000 and 0x110000000000-0x500000000000
  whole_space = 2, // it has everything but what is reserved
};
inline constexpr LayoutVersion kNewestLayout = LayoutVersion::whole_space;

struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool overlaps(uint64_t from, uint64_t to) const { return from < end && to > begin; }
};

struct Layout {
  LayoutVersion version = kNewestLayout;
  uint64_t window = 0;      // begin of the images
  uint64_t cache = 0;       // the code cache
  uint64_t mmap_top = 0;    // mappings grow down from here
  uint64_t mmap_low = 0;    // and end here
  AddressRange below_2_gib; // where MAP_32BIT finds room
  uint64_t stack_top = 0;
  uint64_t brk = 0; // where brk begins if not after the program
  uint64_t seed = 0;
  std::array<AddressRange, 5> reserved = {}; // not for the guest

  // The uppermost reserved range that overlaps this one; null if none does.
  const AddressRange* reserved_in(uint64_t begin, uint64_t end) const;
};

struct LayoutOptions {
  LayoutVersion version = kNewestLayout;
  uint64_t seed = 0;
  bool randomise = true; // if not, the layout is without any offset
  uint64_t top = 0;      // where stack and mappings end; of version 1, nothing
};

// The same options give the same layout. It is refused by name if rdb itself lies there.
Layout make_layout(const LayoutOptions& options);

inline uint64_t page_down(uint64_t address) {
  return address & ~(kPage - 1);
}
inline uint64_t page_up(uint64_t address) {
  return (address + kPage - 1) & ~(kPage - 1);
}

} // namespace rdb::guest
