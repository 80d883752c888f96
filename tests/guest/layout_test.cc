// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recordings say by a version, a seed and a top where the guest's memory was. These must mean the same for
// ever.
#include "rdbtool/base/error.h"
#include "rdbtool/guest/memory/host_place.h"
#include "rdbtool/guest/memory/layout.h"

#include <gtest/gtest.h>

namespace rdb::guest {
namespace {

constexpr uint64_t kTop = 0x7EF000000000;

Layout first(uint64_t seed, bool randomise = true) {
  return make_layout({LayoutVersion::two_ranges, seed, randomise, kTop});
}

Layout second(uint64_t seed, bool randomise = true, uint64_t top = kTop) {
  return make_layout({LayoutVersion::whole_space, seed, randomise, top});
}

// The host lies elsewhere while there is one of these.
class OtherPlace {
public:
  explicit OtherPlace(const HostPlace& place) : usual_(host_place) { host_place = place; }
  ~OtherPlace() { host_place = usual_; }
  OtherPlace(const OtherPlace&) = delete;
  OtherPlace& operator=(const OtherPlace&) = delete;

private:
  HostPlace usual_;
};

bool is_free(const Layout& layout, uint64_t begin, uint64_t end) {
  return layout.reserved_in(begin, end) == nullptr;
}

TEST(LayoutTest, FirstVersionWithoutRandomAddresses) {
  const Layout layout = first(77, false);
  EXPECT_EQ(layout.window, 0x10000000u);
  EXPECT_EQ(layout.cache, 0x50000000u);
  EXPECT_EQ(layout.mmap_top, 0x4F0000000000u);
  EXPECT_EQ(layout.mmap_low, 0x110000000000u);
  EXPECT_EQ(layout.stack_top, 0x4FFFFFFFF000u);
  EXPECT_EQ(layout.brk, 0x180000000000u);
  EXPECT_EQ(layout.below_2_gib.begin, 0x60000000u);
  EXPECT_EQ(layout.below_2_gib.end, 0x7E000000u);
}

TEST(LayoutTest, FirstVersionHasTwoRanges) {
  const Layout layout = first(77, false);
  EXPECT_TRUE(is_free(layout, 0x10000, 0x50000000));
  EXPECT_FALSE(is_free(layout, 0x4FFFF000, 0x50001000));
  EXPECT_FALSE(is_free(layout, 0x5FFFF000, 0x60000000));
  EXPECT_TRUE(is_free(layout, 0x60000000, 0x7E000000));
  EXPECT_FALSE(is_free(layout, 0x7E000000, 0x7E001000));
  EXPECT_FALSE(is_free(layout, 0x10FFFFFFF000, 0x110000000000));
  EXPECT_TRUE(is_free(layout, 0x110000000000, 0x500000000000));
  EXPECT_FALSE(is_free(layout, 0x500000000000, 0x500000001000));
  EXPECT_FALSE(is_free(layout, 0x7FFFFFFFE000, 0x7FFFFFFFF000));
}

TEST(LayoutTest, FirstVersionOfASeed) {
  const Layout layout = first(0x123456789ABCDEF);
  EXPECT_EQ(layout.window, 0x1AA9D000u);
  EXPECT_EQ(layout.mmap_top, 0x4EB5E2F6D000u);
  EXPECT_EQ(layout.stack_top, 0x4FFD23341000u);
  EXPECT_EQ(layout.brk, 0x18C4667EC000u);
}

TEST(LayoutTest, SecondVersionOfASeed) {
  const Layout layout = second(0x123456789ABCDEF);
  EXPECT_EQ(layout.cache, 0x60000000u);
  EXPECT_EQ(layout.window, 0x1AA9D000u);
  EXPECT_EQ(layout.mmap_top, 0x7ED5E2F6D000u);
  EXPECT_EQ(layout.stack_top, 0x7EED23341000u);
  EXPECT_EQ(layout.brk, 0x5504667EC000u);
}

TEST(LayoutTest, SecondVersionHasWhatSanitizersNeed) {
  const Layout layout = second(1);
  EXPECT_TRUE(is_free(layout, 0x10000, 0x60000000));
  EXPECT_FALSE(is_free(layout, 0x60000000, 0x60001000));
  EXPECT_FALSE(is_free(layout, 0x6FFFF000, 0x70000000));
  EXPECT_FALSE(is_free(layout, 0x70000000, 0x70001000));
  EXPECT_FALSE(is_free(layout, 0x77FFF000, 0x78000000));
  EXPECT_TRUE(is_free(layout, 0x78000000, 0x7E000000));
  EXPECT_FALSE(is_free(layout, 0x7E000000, 0x7E001000));
  EXPECT_TRUE(is_free(layout, 0x7FFF8000, 0x10007FFF8000));
  EXPECT_TRUE(is_free(layout, 0x100000000, 0x555555554000));
  EXPECT_FALSE(is_free(layout, 0x555555554000, 0x555555555000));
  EXPECT_TRUE(is_free(layout, 0x568000000000, 0x7EF000000000));
  EXPECT_FALSE(is_free(layout, 0x7EF000000000, 0x7EF000001000));
}

// ThreadSanitizer takes what is mapped elsewhere for a mistake.
TEST(LayoutTest, RandomAddressesStayWhereThreadSanitizerLooks) {
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    const Layout layout = second(seed);
    ASSERT_GE(layout.mmap_top, 0x7E9000000000u) << seed;
    ASSERT_LT(layout.mmap_top + 0xC00000000, layout.stack_top) << seed; // room for the stack
    ASSERT_LT(layout.stack_top, kTop) << seed;
    ASSERT_GE(layout.brk, 0x550000000000u) << seed;
    ASSERT_LE(layout.brk + 0x1000000000, 0x555555554000u) << seed;
  }
}

TEST(LayoutTest, TheUppermostReservedRangeCounts) {
  const AddressRange* found = second(1).reserved_in(0x10000, 0x79000000);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->begin, 0x70000000u);
}

// A layout does not depend on the place of rdb that replays it.
TEST(LayoutTest, TheTopDecidesAndNotThePlaceOfTheHost) {
  const Layout before = second(5, true, 0x140000000000);
  EXPECT_LT(before.brk, before.mmap_top);
  OtherPlace legacy({0x150000000000, 0x1000, 0x150000000000});
  const Layout there = second(5, true, 0x140000000000);
  EXPECT_EQ(before.mmap_top, there.mmap_top);
  EXPECT_EQ(before.stack_top, there.stack_top);
  EXPECT_EQ(before.brk, there.brk);
  EXPECT_EQ(top_for_guest(), 0x140000000000u);
}

TEST(LayoutTest, AStackWhereTheHostLiesIsRefused) {
  OtherPlace legacy({0x150000000000, 0x1000, 0x150000000000});
  EXPECT_THROW(first(1), Limit);
  EXPECT_THROW(second(1), Limit);
  EXPECT_THROW(second(1, true, 0x10000000), Limit);
}

TEST(LayoutTest, WhatIsTheHosts) {
  EXPECT_EQ(top_for_guest(), kTop);
  EXPECT_FALSE(is_host(0x555555553FFF));
  EXPECT_TRUE(is_host(0x555555554000));
  EXPECT_TRUE(is_host(0x567FFFFFFFFF));
  EXPECT_FALSE(is_host(0x568000000000));
  EXPECT_FALSE(is_host(0x7EEFFFFFFFFF));
  EXPECT_TRUE(is_host(0x7EF000000000));
  EXPECT_TRUE(is_host(~uint64_t{0}));
  EXPECT_EQ(size_before_host(0x555555553000, 0x5000), 0x1000u);
  EXPECT_EQ(size_before_host(0x555555554000, 0x5000), 0u);
  EXPECT_EQ(size_before_host(0x7EEFFFFFF000, 0x5000), 0x1000u);
  EXPECT_EQ(size_before_host(0x1000, 0x5000), 0x5000u);
}

} // namespace
} // namespace rdb::guest
