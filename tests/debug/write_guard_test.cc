// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// While the guard protects, the program's memory cannot be written to, but for the pages that were opened;
// what the program may not write to itself is nobody's stray write.
#include "rdbtool/base/error.h"
#include "rdbtool/debug/isolation/write_guard.h"
#include "rdbtool/guest/memory/host_place.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

class WriteGuardTest : public testing::Test {
protected:
  WriteGuardTest()
      : space_(guest::make_layout({guest::kNewestLayout, 0, false, guest::top_for_guest()})), guard_(room_) {
    page_ = map(3, PROT_READ | PROT_WRITE);
    constant_ = map(1, PROT_READ);
    guard_.attach(space_, Protect::report);
    guard_.begin();
  }
  ~WriteGuardTest() override {
    guard_.unprotect();
    space_.munmap(page_, 3 * guest::kPage);
    space_.munmap(constant_, guest::kPage);
  }

  uint64_t map(uint64_t pages, int protection) {
    int64_t place = space_.mmap(0, pages * guest::kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_GT(place, 0);
    return static_cast<uint64_t>(place);
  }

  // The kernel says so, instead of a signal.
  static bool can_write(uint64_t address) {
    char byte = 0;
    iovec local{&byte, 1};
    iovec remote{reinterpret_cast<void*>(address), 1};
    return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == 1;
  }

  static inline StackRoom room_;
  guest::AddressSpace space_;
  WriteGuard guard_;
  uint64_t page_;
  uint64_t constant_;
  std::vector<uint64_t> stale_; // pages whose code has changed
};

TEST_F(WriteGuardTest, ProtectsUntilItDoesNot) {
  EXPECT_FALSE(guard_.is_read_only());
  EXPECT_TRUE(can_write(page_));
  guard_.protect();
  EXPECT_TRUE(guard_.is_read_only());
  for (uint64_t i = 0; i < 3; ++i)
    EXPECT_FALSE(can_write(page_ + i * guest::kPage)) << i;
  guard_.unprotect();
  EXPECT_FALSE(guard_.is_read_only());
  for (uint64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(can_write(page_ + i * guest::kPage)) << i;
  EXPECT_FALSE(can_write(constant_));
}

TEST_F(WriteGuardTest, WithholdsWhatTheProgramMayWrite) {
  EXPECT_FALSE(guard_.is_withheld(page_));
  guard_.protect();
  EXPECT_TRUE(guard_.is_withheld(page_));
  EXPECT_FALSE(guard_.is_withheld(constant_));
  EXPECT_FALSE(guard_.is_withheld(page_ + (1u << 30)));
}

TEST_F(WriteGuardTest, AnOpenPageIsOpenUntilTheNextBegins) {
  uint64_t second = page_ + guest::kPage;
  guard_.protect();
  guard_.open(second);
  EXPECT_TRUE(can_write(second));
  EXPECT_FALSE(guard_.is_withheld(second));
  EXPECT_FALSE(can_write(page_));
  EXPECT_FALSE(can_write(second + guest::kPage));
  // Also when somebody else is protected from in between.
  guard_.unprotect();
  guard_.protect();
  EXPECT_TRUE(can_write(second));
  EXPECT_FALSE(can_write(page_));
  guard_.unprotect();
  guard_.begin();
  guard_.protect();
  EXPECT_FALSE(can_write(second));
  EXPECT_TRUE(guard_.is_withheld(second));
}

TEST_F(WriteGuardTest, CodeOnAnOpenPageIsForgotten) {
  uint64_t code = map(1, PROT_READ | PROT_WRITE | PROT_EXEC);
  space_.on_code_change([this](GuestAddr begin, uint64_t) { stale_.push_back(begin.value); });
  EXPECT_EQ(space_.watch_code_page(GuestAddr(code)), guest::AddressSpace::CodeWatch::noticed);
  EXPECT_FALSE(can_write(code));
  guard_.protect();
  EXPECT_TRUE(guard_.is_withheld(code));
  guard_.open(code);
  EXPECT_TRUE(can_write(code));
  EXPECT_EQ(stale_, std::vector<uint64_t>{code});
  guard_.unprotect();
  EXPECT_TRUE(can_write(code));
  space_.munmap(code, guest::kPage);
}

TEST_F(WriteGuardTest, TellsTheFirstWriteAndCountsAll) {
  ucontext_t context;
  getcontext(&context);
  EXPECT_FALSE(guard_.stray());
  guard_.note(page_ + 5, &context);
  guard_.note(page_ + guest::kPage, &context);
  ASSERT_TRUE(guard_.stray());
  EXPECT_EQ(guard_.stray()->address, page_ + 5);
  EXPECT_EQ(guard_.noted(), 2u);
  guard_.begin();
  EXPECT_FALSE(guard_.stray());
  EXPECT_EQ(guard_.noted(), 0u);
}

TEST_F(WriteGuardTest, TellsNothingIfItIsOff) {
  guard_.attach(space_, Protect::off);
  ucontext_t context;
  getcontext(&context);
  guard_.note(page_, &context);
  EXPECT_FALSE(guard_.reports());
  EXPECT_FALSE(guard_.stray());
  EXPECT_EQ(guard_.noted(), 0u);
}

TEST(ProtectNamed, Words) {
  EXPECT_EQ(protect_named("true"), Protect::report);
  EXPECT_EQ(protect_named("report"), Protect::report);
  EXPECT_EQ(protect_named("undo"), Protect::report);
  EXPECT_EQ(protect_named("fatal"), Protect::fatal);
  EXPECT_THROW(protect_named("off"), UserError);
  EXPECT_THROW(protect_named(""), UserError);
}

} // namespace
} // namespace rdb::debug
