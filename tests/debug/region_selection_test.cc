// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which regions run: --only, --from, --until, --max-hits.
#include "rdbtool/base/error.h"
#include "rdbtool/debug/regions/region_selection.h"

#include <gtest/gtest.h>

namespace rdb::debug {
namespace {

// Regions at lines 10-12 and 20 of one file, and at line 10 of another.
descriptors::Descriptors two_files() {
  descriptors::Descriptors d;
  d.sources.push_back({.id = 1, .path = "src/a.c", .copy = "", .removed = {}});
  d.sources.push_back({.id = 2, .path = "/home/lib/b.c", .copy = "", .removed = {}});
  d.regions.push_back({.id = 1, .source = 1, .begin_line = 10, .end_line = 12});
  d.regions.push_back({.id = 2, .source = 1, .begin_line = 20, .end_line = 20});
  d.regions.push_back({.id = 3, .source = 2, .begin_line = 10, .end_line = 10});
  return d;
}

// The ids of the regions that run with this --only.
std::vector<uint32_t> selected(const std::vector<std::string>& only) {
  descriptors::Descriptors d = two_files();
  RegionSelection selection({.only = only});
  std::vector<uint32_t> result;
  for (const descriptors::Region& region : d.regions)
    if (selection.selects(region, source_of(d, region))) result.push_back(region.id);
  return result;
}

using Ids = std::vector<uint32_t>;

TEST(RegionSelection, OnlyByFileAndLine) {
  EXPECT_EQ(selected({}), Ids({1, 2, 3}));
  EXPECT_EQ(selected({"a.c"}), Ids({1, 2}));
  EXPECT_EQ(selected({"elsewhere/a.c"}), Ids({1, 2})); // the file's name counts, wherever it is
  EXPECT_EQ(selected({"10"}), Ids({1, 3}));
  EXPECT_EQ(selected({"a.c:10"}), Ids({1}));
  EXPECT_EQ(selected({"src/a.c:11"}), Ids({1}));
  EXPECT_EQ(selected({"a.c:12"}), Ids({1}));
  EXPECT_EQ(selected({"a.c:13"}), Ids());
  EXPECT_EQ(selected({"a.c:9"}), Ids());
  EXPECT_EQ(selected({"b.c:10", "20"}), Ids({2, 3}));
  EXPECT_EQ(selected({"c.c"}), Ids());
}

TEST(RegionSelection, AFileNameMayHaveAColon) {
  descriptors::Region region{.begin_line = 5, .end_line = 5};
  EXPECT_TRUE(RegionSelection({.only = {"a:b.c"}}).selects(region, "a:b.c"));
  EXPECT_TRUE(RegionSelection({.only = {"a:b.c:5"}}).selects(region, "a:b.c"));
  EXPECT_FALSE(RegionSelection({.only = {"a:b.c:6"}}).selects(region, "a:b.c"));
}

void check(const RegionOptions& options) {
  descriptors::Descriptors d = two_files();
  const descriptors::Descriptors* bundles[] = {&d};
  RegionSelection(options).check(bundles);
}

TEST(RegionSelection, OptionsThatSelectNothingAreTheUsersMistake) {
  EXPECT_NO_THROW(check({}));
  EXPECT_NO_THROW(check({.only = {"a.c:20", "b.c"}}));
  EXPECT_NO_THROW(check({.from = 7, .to = 7}));
  EXPECT_THROW(check({.from = 8, .to = 7}), UserError);
  EXPECT_THROW(check({.only = {"a.c", "a.c:15"}}), UserError);
  try {
    check({.only = {"x.c"}});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "--only x.c: there is no such region; there are: src/a.c:10, src/a.c:20, /home/lib/b.c:10");
  }
  EXPECT_THROW(RegionSelection({.only = {"1"}}).check({}), UserError);
}

TEST(RegionSelection, TimesAndHits) {
  RegionSelection selection({.from = 100, .to = 200, .max_hits = 3});
  RegionCount count;
  EXPECT_FALSE(selection.allows(count, 99));
  EXPECT_TRUE(selection.allows(count, 100));
  EXPECT_TRUE(selection.allows(count, 200));
  EXPECT_FALSE(selection.allows(count, 201));
  count.hits = 2;
  EXPECT_TRUE(selection.allows(count, 150));
  count.hits = 3;
  EXPECT_FALSE(selection.allows(count, 150));
  count.hits = 0;
  count.disabled = "it crashed";
  EXPECT_FALSE(selection.allows(count, 150));
}

TEST(RegionSelection, ARegionOfAnUnknownFile) {
  EXPECT_EQ(source_of(two_files(), {.source = 9}), "?");
  EXPECT_TRUE(RegionSelection({}).reports_skipped());
  EXPECT_FALSE(RegionSelection({.report_skipped = false}).reports_skipped());
}

} // namespace
} // namespace rdb::debug
