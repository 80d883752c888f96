// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/page_check.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/memory/host_place.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace rdb::record {
namespace {

class PageCheckTest : public testing::Test {
protected:
  PageCheckTest() : space_(guest::make_layout({guest::kNewestLayout, 0, false, guest::top_for_guest()})) {
    memory_ = reinterpret_cast<uint8_t*>(
        space_.mmap(0, 4 * guest::kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memory_[0] = 1;
  }
  ~PageCheckTest() override { space_.munmap(reinterpret_cast<uint64_t>(memory_), 4 * guest::kPage); }

  guest::AddressSpace space_;
  uint8_t* memory_;
  PageCheck check_;
};

TEST_F(PageCheckTest, NothingChanged) {
  check_.before(space_);
  EXPECT_NO_THROW(check_.after(space_, "call"));
}

TEST_F(PageCheckTest, AChangedByteIsNamed) {
  check_.before(space_);
  memory_[100] = 2;
  try {
    check_.after(space_, "some_call");
    FAIL() << "the change was not seen";
  } catch (const Bug& error) {
    EXPECT_NE(std::string(error.what()).find("some_call"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find(fmt::format("{}", fmt::ptr(memory_))), std::string::npos);
  }
}

TEST_F(PageCheckTest, APageTouchedForTheFirstTimeIsSeen) {
  check_.before(space_);
  memory_[3 * guest::kPage] = 2;
  EXPECT_THROW(check_.after(space_, "call"), Bug);
}

} // namespace
} // namespace rdb::record
