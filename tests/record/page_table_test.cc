// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which processes wait for each other, told from those that only wait.
#include "rdbtool/record/shared_memory/page_owners.h"

#include <gtest/gtest.h>
#include <set>

namespace rdb::record {
namespace {

class Waits : public ::testing::Test {
protected:
  void SetUp() override {
    table_ = PageTable::make();
    ASSERT_NE(table_, nullptr);
    ASSERT_EQ(table_->add(8), 0u);
  }
  void owns(uint32_t process, uint32_t page) { table_->page(page).owner = process; }
  void waits(uint32_t process, uint32_t page, bool yields = false) {
    table_->begin_wait(process, page, yields);
  }
  std::vector<uint32_t> circle(uint32_t process, uint32_t page) {
    return table_->find_deadlock(process, page, [this](uint32_t p) { return !dead_.contains(p); });
  }
  using Processes = std::vector<uint32_t>;

  PageTable* table_ = nullptr; // as long as the process lives
  std::set<uint32_t> dead_;
};

TEST_F(Waits, ForOneThatDoesNotWaitIsNoCircle) {
  owns(11, 0);
  owns(12, 1);
  waits(11, 1);
  EXPECT_EQ(circle(11, 1), Processes{});
}

TEST_F(Waits, OfTwoForEachOther) {
  owns(11, 0);
  owns(12, 1);
  waits(11, 1);
  waits(12, 0);
  EXPECT_EQ(circle(11, 1), (Processes{11, 12}));
  EXPECT_EQ(circle(12, 0), (Processes{12, 11}));
}

TEST_F(Waits, OfThreeInARow) {
  for (uint32_t i = 0; i < 3; ++i) {
    owns(11 + i, i);
    waits(11 + i, (i + 1) % 3);
  }
  EXPECT_EQ(circle(12, 2), (Processes{12, 13, 11}));
}

TEST_F(Waits, OfOneThatYieldsAreACircleToo) {
  owns(11, 0);
  owns(12, 1);
  waits(11, 1);
  waits(12, 0, true);
  EXPECT_EQ(circle(11, 1), (Processes{11, 12}));
  EXPECT_FALSE(table_->yields(11));
  EXPECT_TRUE(table_->yields(12));
  table_->end_wait(12);
  EXPECT_FALSE(table_->yields(12));
}

TEST_F(Waits, ForACircleOfOthersIsTheirAffair) {
  owns(12, 1);
  owns(13, 2);
  waits(11, 1);
  waits(12, 2);
  waits(13, 1);
  EXPECT_EQ(circle(11, 1), Processes{});
  EXPECT_EQ(circle(12, 2), (Processes{12, 13}));
}

TEST_F(Waits, ThatAreOverAreForgotten) {
  owns(11, 0);
  owns(12, 1);
  waits(12, 0);
  table_->end_wait(12);
  table_->end_wait(13);
  waits(11, 1);
  EXPECT_EQ(circle(11, 1), Processes{});
}

// It has been given the page, and has not noticed yet.
TEST_F(Waits, ForAPageThatHasChangedHandsAreNoCircle) {
  owns(11, 0);
  owns(12, 1);
  waits(12, 0);
  owns(12, 0);
  waits(11, 1);
  EXPECT_EQ(circle(11, 1), Processes{});
}

TEST_F(Waits, ForAPageThatIsItsOwnByNowIsNoCircle) {
  owns(11, 0);
  owns(11, 1);
  waits(11, 1);
  EXPECT_EQ(circle(11, 1), Processes{});
}

TEST_F(Waits, OfTheDeadDoNotCount) {
  owns(11, 0);
  owns(12, 1);
  waits(11, 1);
  waits(12, 0);
  dead_ = {12};
  EXPECT_EQ(circle(11, 1), Processes{});
}

TEST_F(Waits, ForAPageThatNobodyHasEnd) {
  waits(11, 1);
  EXPECT_EQ(circle(11, 1), Processes{});
}

TEST_F(Waits, NeedRoomForTheirPages) {
  EXPECT_EQ(table_->add(4), 8u);
  EXPECT_EQ(table_->add(size_t{1} << 40), std::nullopt);
  EXPECT_EQ(table_->add(1), 12u);
}

} // namespace
} // namespace rdb::record
