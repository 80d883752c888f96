// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function with regions is looked at where it is entered, and wherever its code may stand in a caller's.
#include "rdbtool/debug/twins/hook_plan.h"

#include <gtest/gtest.h>
#include <map>

namespace rdb::debug {
namespace {

// main (0) calls outer (1), which calls middle (2), which calls leaf (3); main calls leaf, too.
class HookPlanTest : public testing::Test {
protected:
  HookPlanTest() {
    facts_.functions.resize(4);
    facts_.calls = {{0, 1, 1}, {1, 2, 1}, {2, 3, 2}, {0, 3, 1}};
  }

  // The hooked functions, each with those that may stand in it.
  std::map<uint32_t, std::set<uint32_t>> hooks(const std::set<uint32_t>& with_regions) {
    HookQuestions questions;
    questions.why_no_entry = [this](uint32_t function) {
      return no_entry_.contains(function) ? std::string("inlined") : std::string();
    };
    questions.has_all_calls = [this](uint32_t caller, uint32_t callee, uint64_t) {
      return !inlined_.contains({caller, callee});
    };
    plan_ = plan_hooks(facts_, with_regions, questions);
    std::map<uint32_t, std::set<uint32_t>> result;
    for (const PlannedHook& hook : plan_.hooks)
      result[hook.function] = hook.inner;
    return result;
  }
  using Hooks = std::map<uint32_t, std::set<uint32_t>>;

  TwinFacts facts_;
  std::set<uint32_t> no_entry_;
  std::set<std::pair<uint32_t, uint32_t>> inlined_; // caller, callee
  HookPlan plan_;
};

TEST_F(HookPlanTest, a_function_that_is_only_called_is_hooked_alone) {
  EXPECT_EQ(hooks({3}), (Hooks{{3, {}}}));
  EXPECT_TRUE(plan_.missed.empty());
}

TEST_F(HookPlanTest, a_caller_that_has_its_code_is_hooked_as_well) {
  inlined_ = {{2, 3}};
  EXPECT_EQ(hooks({3}), (Hooks{{2, {3}}, {3, {}}}));
}

TEST_F(HookPlanTest, so_are_the_callers_of_that_if_they_have_its_code_in_turn) {
  inlined_ = {{2, 3}, {1, 2}};
  no_entry_ = {2};
  EXPECT_EQ(hooks({3}), (Hooks{{1, {3}}, {3, {}}}));
  no_entry_ = {};
  EXPECT_EQ(hooks({3}), (Hooks{{1, {3}}, {2, {3}}, {3, {}}}));
}

TEST_F(HookPlanTest, all_callers_of_what_has_no_entry) {
  no_entry_ = {3};
  EXPECT_EQ(hooks({3}), (Hooks{{0, {3}}, {2, {3}}}));
}

TEST_F(HookPlanTest, several_functions_with_regions) {
  inlined_ = {{2, 3}};
  EXPECT_EQ(hooks({2, 3}), (Hooks{{2, {3}}, {3, {}}}));
}

TEST_F(HookPlanTest, what_can_be_seen_nowhere_is_said) {
  no_entry_ = {0, 1, 2, 3};
  EXPECT_EQ(hooks({3}), Hooks());
  ASSERT_EQ(plan_.missed.size(), 1u);
  EXPECT_EQ(plan_.missed[0].function, 3u);
  EXPECT_EQ(plan_.missed[0].why, "inlined");
}

TEST_F(HookPlanTest, recursion_ends) {
  facts_.calls.push_back({3, 3, 1});
  facts_.calls.push_back({3, 2, 1});
  inlined_ = {{2, 3}, {3, 2}, {3, 3}};
  EXPECT_EQ(hooks({3}), (Hooks{{2, {3}}, {3, {}}}));
}

} // namespace
} // namespace rdb::debug
