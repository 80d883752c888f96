// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/layout.h"

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

} // namespace

Layout make_layout(uint64_t seed, bool randomise) {
  Layout layout;
  layout.seed = seed;
  layout.window = 0x10000000;
  layout.mmap_top = 0x4F0000000000;
  layout.stack_top = 0x4FFFFFFFF000;
  layout.brk = 0x180000000000;
  if (randomise) {
    // The number of random bits is the kernel's (28 for mappings, 22 for the stack), except for images, which
    // have less room.
    Random random{seed};
    layout.window += random.pages(16);
    layout.mmap_top -= random.pages(28);
    layout.stack_top -= random.pages(22);
    layout.brk += random.pages(28);
  }
  layout.cache = kCachePlace;
  return layout;
}

} // namespace rdb::guest
