// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which snapshots are kept: near the user they lie close together, and nowhere is there a hole.
#include "rdbtool/gdb/replay/snapshots.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace rdb::gdb {
namespace {

constexpr size_t kMost = 24;

void add(std::vector<Time>& kept, Time time) {
  kept.insert(std::ranges::upper_bound(kept, time), time);
  if (kept.size() > kMost) kept.erase(kept.begin() + static_cast<ptrdiff_t>(least_useful(kept, time)));
}

// The longest stretch between two snapshots, in parts of the distance from `here` to its far end.
double widest(const std::vector<Time>& kept, Time here, uint64_t interval) {
  double most = 0;
  for (size_t i = 1; i < kept.size(); ++i) {
    uint64_t distance = kept[i] <= here ? here - kept[i - 1] : kept[i] - here;
    most = std::max(most, static_cast<double>(kept[i] - kept[i - 1]) /
                              static_cast<double>(std::max(distance, 4 * interval)));
  }
  return most;
}

TEST(Snapshots, AreDenseWhereTheUserIs) {
  std::vector<Time> kept = {Time(0)};
  for (uint64_t time = 1000; time <= 3'000'000; time += 1000) {
    add(kept, Time(time));
    EXPECT_EQ(kept.front(), Time(0));
    EXPECT_EQ(kept.back(), Time(time));
    EXPECT_LE(widest(kept, Time(time), 1000), 0.5) << "at " << time;
  }
  // A step back from the end begins at one of the last.
  EXPECT_GE(kept[kept.size() - 2], Time(2'996'000));
}

TEST(Snapshots, FollowTheUserBackwards) {
  std::vector<Time> kept = {Time(0)};
  for (uint64_t time = 1000; time <= 1'000'000; time += 1000)
    add(kept, Time(time));
  // Going back, the stretch before is replayed, and snapshots are left on the way.
  for (uint64_t end = 1'000'000; end > 0;) {
    auto from = *std::prev(std::ranges::lower_bound(kept, Time(end)));
    for (uint64_t time = from.value + 1000; time < end; time += 1000)
      add(kept, Time(time));
    EXPECT_LE(end - std::prev(std::ranges::lower_bound(kept, Time(end)))->value, 2000u);
    end = from.value;
  }
}

} // namespace
} // namespace rdb::gdb
