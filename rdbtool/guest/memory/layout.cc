// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/layout.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/memory/host_place.h"

namespace rdb::guest {
namespace {

// splitmix64: a few well-mixed numbers from one seed.
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
  }
  uint64_t pages(unsigned bits) { return (next() & ((1ull << bits) - 1)) * kPage; }
};

// How many random bits of a page's number each place has.
struct RandomBits {
  unsigned window, mappings, stack, brk;
};

AddressRange low_host() {
  return {host_place.low_begin, host_place.low_begin + host_place.low_size};
}
AddressRange high_host() {
  return {host_place.high_begin, kUserEnd};
}

Layout two_ranges() {
  constexpr uint64_t kLowEnd = 0x7E000000;
  constexpr uint64_t kHighBegin = 0x110000000000;
  constexpr uint64_t kHighEnd = 0x500000000000;
  Layout layout;
  layout.cache = 0x50000000;
  layout.mmap_top = 0x4F0000000000;
  layout.mmap_low = kHighBegin;
  layout.below_2_gib = {layout.cache + kCacheSize, kLowEnd};
  layout.stack_top = 0x4FFFFFFFF000;
  layout.brk = 0x180000000000;
  layout.reserved = {{{layout.cache, layout.cache + kCacheSize},
                      {kLowEnd, kHighBegin},
                      {kHighEnd, kUserEnd},
                      low_host(),
                      high_host()}};
  return layout;
}

// Mappings and stack lie as high as rdb leaves room, the heap before the place of native programs: that is
// where ThreadSanitizer and MemorySanitizer look for them.
Layout whole_space(uint64_t top) {
  constexpr uint64_t kUsualBreak = 0x550000000000;
  constexpr uint64_t kLowerBreak = 0x0C0000000000; // where stack and mappings are lower, too
  Layout layout;
  layout.cache = 0x60000000;
  layout.stack_top = top - kPage;
  layout.mmap_top = top - 0x1000000000; // 64 GiB for the stack and its random place
  layout.mmap_low = 0x100000000;
  layout.below_2_gib = {0x40000000, kNestedCachePlace};
  layout.brk = top > kUsualBreak ? kUsualBreak : kLowerBreak;
  layout.reserved = {{{layout.cache, layout.cache + kCacheSize},
                      {kOwnCodeBegin, kOwnCodeEnd},
                      {kNestedCachePlace, kLowHostEnd},
                      low_host(),
                      high_host()}};
  return layout;
}

} // namespace

const AddressRange* Layout::reserved_in(uint64_t begin, uint64_t end) const {
  const AddressRange* found = nullptr;
  for (const AddressRange& range : reserved)
    if (range.overlaps(begin, end) && (found == nullptr || range.begin > found->begin)) found = &range;
  return found;
}

Layout make_layout(const LayoutOptions& options) {
  constexpr uint64_t kLeastTop = 0x100000000000; // mappings and heap are random by some hundred GiB
  const bool old = options.version == LayoutVersion::two_ranges;
  if (!old && options.top < kLeastTop)
    limit("rdb leaves no room for a program, since it lies at {:#x} itself; rdb cannot run under rdb",
          host_place.high_begin);
  Layout layout = old ? two_ranges() : whole_space(options.top);
  if (is_host(layout.stack_top))
    limit("the program's stack ends at {:#x}, and rdb itself lies there: start rdb without 'setarch', with "
          "a limited stack (ulimit -s) and where it may call personality()",
          layout.stack_top);
  layout.version = options.version;
  layout.seed = options.seed;
  layout.window = 0x10000000;
  if (!options.randomise) return layout;
  // The kernel has 28 bits for mappings and 22 for the stack. Mappings have two less here, since
  // ThreadSanitizer wants them after 0x7e8000000000; images have less room still.
  const RandomBits bits = old ? RandomBits{16, 28, 22, 28} : RandomBits{16, 26, 22, 26};
  Random random{options.seed};
  layout.window += random.pages(bits.window);
  layout.mmap_top -= random.pages(bits.mappings);
  layout.stack_top -= random.pages(bits.stack);
  layout.brk += random.pages(bits.brk);
  return layout;
}

} // namespace rdb::guest
