// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The strong types: they count and compare like numbers, and two meanings do not mix.
#include "rdbtool/base/types.h"

#include <gtest/gtest.h>
#include <type_traits>
#include <unordered_set>

namespace rdb {
namespace {

template <class A, class B>
concept Comparable = requires(A a, B b) { a == b; };
template <class A, class B>
concept Subtractable = requires(A a, B b) { a - b; };

TEST(Types, OffsetsMoveAnAddressAndDifferencesArePlainNumbers) {
  GuestAddr a(0x1000);
  GuestAddr b = a + 0x20;
  EXPECT_EQ(b, GuestAddr(0x1020));
  EXPECT_EQ(b - a, 0x20u);
  b -= 0x20;
  EXPECT_EQ(a, b);
}

TEST(Types, TwoMeaningsDoNotMix) {
  static_assert(Comparable<GuestAddr, GuestAddr>);
  static_assert(!Comparable<GuestAddr, Time>);
  static_assert(!Subtractable<GuestAddr, Time>);
  static_assert(!std::is_convertible_v<uint64_t, GuestAddr>);
  static_assert(!std::is_convertible_v<GuestAddr, uint64_t>);
}

TEST(Types, PositionsAreOrderedByTimeAndThenByOrdinal) {
  EXPECT_LT((Position{Time(5), 9}), (Position{Time(6), 0}));
  EXPECT_LT((Position{Time(5), 0}), (Position{Time(5), 1}));
  EXPECT_EQ((Position{Time(5), 1}), (Position{Time(5), 1}));
}

TEST(Types, AddressesAreKeysOfHashTables) {
  std::unordered_set<GuestAddr> seen{GuestAddr(1), GuestAddr(2), GuestAddr(1)};
  EXPECT_EQ(seen.size(), 2u);
}

} // namespace
} // namespace rdb
