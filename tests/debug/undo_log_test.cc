// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whatever debug code and the guest functions that it calls have written is as before once it is undone.
#include "rdbtool/debug/isolation/undo_log.h"
#include "rdbtool/guest/memory/host_place.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace rdb::debug {
namespace {

constexpr uint64_t kPages = 4;

class UndoLogTest : public testing::Test {
protected:
  UndoLogTest()
      : space_(guest::make_layout({guest::kNewestLayout, 0, false, guest::top_for_guest()})),
        engine_(space_, options()), log_(engine_, space_) {
    memory_ = map(kPages, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < kPages * guest::kPage; ++i)
      bytes(memory_)[i] = static_cast<uint8_t>(i * 7 + i / 256);
    before_ = content();
  }
  ~UndoLogTest() override { space_.munmap(memory_, kPages * guest::kPage); }

  static engine::TranslatorOptions options() {
    engine::TranslatorOptions options;
    options.cache_place = guest::make_layout({guest::kNewestLayout, 0, false, guest::top_for_guest()}).cache;
    options.cache_size = 32u << 20;
    options.table_place = guest::kTablePlace;
    options.superblocks = false;
    options.log_stores = true;
    return options;
  }

  uint64_t map(uint64_t pages, int protection) {
    int64_t place = space_.mmap(0, pages * guest::kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_GT(place, 0);
    return static_cast<uint64_t>(place);
  }

  static uint8_t* bytes(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }
  std::vector<uint8_t> content() const { return {bytes(memory_), bytes(memory_) + kPages * guest::kPage}; }

  guest::AddressSpace space_;
  engine::Translator engine_;
  UndoLog log_;
  uint64_t memory_ = 0;
  std::vector<uint8_t> before_;
};

TEST_F(UndoLogTest, EverySizeAtEveryOffset) {
  for (uint64_t size : {1, 2, 7, 8, 9, 63, 4095, 4096, 4099, 9000})
    for (uint64_t offset : {0, 1, 5, 4090}) {
      log_.keep(memory_ + offset, size);
      std::memset(bytes(memory_ + offset), 0xEE, size);
      log_.undo();
      ASSERT_EQ(content(), before_) << size << " bytes at " << offset;
    }
}

TEST_F(UndoLogTest, TheOldestBytesWin) {
  log_.keep(memory_ + 3, 20);
  std::memset(bytes(memory_ + 3), 1, 20);
  log_.keep(memory_, 16);
  std::memset(bytes(memory_), 2, 16);
  log_.keep(memory_ + 8, 1);
  bytes(memory_)[8] = 3;
  log_.undo();
  EXPECT_EQ(content(), before_);
}

TEST_F(UndoLogTest, WhatIsUndoneIsOver) {
  log_.keep(memory_, 8);
  bytes(memory_)[0] = 1;
  log_.undo();
  bytes(memory_)[0] = 77; // the program's own
  log_.undo();
  EXPECT_EQ(bytes(memory_)[0], 77);
}

TEST_F(UndoLogTest, StoresOfSystemCalls) {
  uint64_t value = 0x1122334455667788;
  ASSERT_TRUE(log_.store(memory_ + 4093, &value, sizeof value));
  EXPECT_EQ(std::memcmp(bytes(memory_ + 4093), &value, sizeof value), 0);
  log_.undo();
  EXPECT_EQ(content(), before_);
}

TEST_F(UndoLogTest, NoSuchMemory) {
  uint64_t value = 1;
  EXPECT_FALSE(log_.store(memory_ + (1u << 30), &value, sizeof value));
  // The part that is there is kept and undone.
  uint64_t end = memory_ + kPages * guest::kPage;
  space_.mprotect(end - guest::kPage, guest::kPage, PROT_NONE);
  EXPECT_FALSE(log_.store(end - guest::kPage - 4, &value, sizeof value));
  log_.undo();
  space_.mprotect(end - guest::kPage, guest::kPage, PROT_READ | PROT_WRITE);
  EXPECT_EQ(content(), before_);
}

TEST_F(UndoLogTest, DebugCodesOwnMemoryStays) {
  auto own = std::make_unique<uint64_t>(5);
  auto address = reinterpret_cast<uint64_t>(own.get());
  ASSERT_TRUE(guest::is_host(address));
  uint64_t value = 6;
  EXPECT_TRUE(log_.store(address, &value, sizeof value));
  log_.undo();
  EXPECT_EQ(*own, 6u);
  EXPECT_FALSE(log_.store(UINT64_MAX - 4095, &value, sizeof value));
}

TEST_F(UndoLogTest, MappingsOfGuestFunctionsAreGone) {
  uint64_t fresh = map(2, PROT_READ | PROT_WRITE);
  log_.keep(fresh + 8, 8); // stands in the log, as what guest functions store there does
  log_.add_mapping(fresh, 2 * guest::kPage);
  EXPECT_TRUE(log_.is_own(fresh, 2 * guest::kPage));
  EXPECT_TRUE(log_.is_own(fresh + 4096, 4096));
  EXPECT_FALSE(log_.is_own(fresh + 4096, 4097));
  EXPECT_FALSE(log_.is_own(fresh - 1, 1));
  EXPECT_FALSE(log_.is_own(fresh, UINT64_MAX));
  uint64_t value = 9;
  EXPECT_TRUE(log_.store(fresh, &value, sizeof value));
  space_.mprotect(fresh, guest::kPage, PROT_READ); // as a loader does with what it has relocated
  log_.undo();
  EXPECT_EQ(space_.find(fresh), nullptr);
  EXPECT_FALSE(log_.is_own(fresh, 1));
  EXPECT_EQ(content(), before_);
}

TEST_F(UndoLogTest, PagesWithTranslatedCode) {
  uint64_t code = map(1, PROT_READ | PROT_WRITE | PROT_EXEC);
  log_.keep(code, 8);
  bytes(code)[0] = 0x90;
  ASSERT_EQ(space_.watch_code_page(GuestAddr(code)),
            guest::AddressSpace::CodeWatch::noticed); // read-only from here on
  log_.undo();
  EXPECT_EQ(bytes(code)[0], 0);
  space_.munmap(code, guest::kPage);
}

// A guest function may be given a pointer to it: what it stores there is its result.
TEST_F(UndoLogTest, WhatGuestFunctionsStoreInDebugCodesMemoryStays) {
  uint64_t code = map(1, PROT_READ | PROT_WRITE | PROT_EXEC);
  const uint8_t store[] = {0x48, 0x89, 0x37, 0x90}; // mov %rsi, (%rdi); nop
  std::memcpy(bytes(code), store, sizeof store);
  auto own = std::make_unique<uint64_t>(5);
  engine::Registers& regs = engine_.registers();
  asm volatile("rdfsbase %0" : "=r"(regs.fs_base));
  asm volatile("rdgsbase %0" : "=r"(regs.gs_base));
  regs.rip = code;
  regs.gpr[engine::RDI] = reinterpret_cast<uint64_t>(own.get());
  regs.gpr[engine::RSI] = 6;
  engine_.run(1);
  EXPECT_EQ(*own, 6u);
  log_.undo();
  EXPECT_EQ(*own, 6u);
  space_.munmap(code, guest::kPage);
}

TEST_F(UndoLogTest, WhatGuestFunctionsStore) {
  uint64_t code = map(1, PROT_READ | PROT_WRITE | PROT_EXEC);
  const uint8_t stores[] = {
      0x48, 0x89, 0x37,                // mov %rsi, (%rdi)
      0xC6, 0x47, 0x0B, 0x5A,          // movb $0x5A, 11(%rdi)
      0x0F, 0x11, 0x87, 0,    1, 0, 0, // movups %xmm0, 256(%rdi)
      0x56,                            // push %rsi
      0x90,
  };
  std::memcpy(bytes(code), stores, sizeof stores);
  engine::Registers& regs = engine_.registers();
  asm volatile("rdfsbase %0" : "=r"(regs.fs_base));
  asm volatile("rdgsbase %0" : "=r"(regs.gs_base));
  regs.rip = code;
  regs.gpr[engine::RDI] = memory_ + 4092;
  regs.gpr[engine::RSI] = 0x0123456789ABCDEF;
  regs.gpr[engine::RSP] = memory_ + 3 * guest::kPage;
  EXPECT_TRUE(log_.has_room_for_slice());
  engine_.run(4);
  EXPECT_EQ(regs.rip, code + sizeof stores - 1);
  EXPECT_EQ(bytes(memory_)[4092 + 11], 0x5A);
  EXPECT_EQ(bytes(memory_)[3 * guest::kPage - 1], 0x01);
  EXPECT_NE(content(), before_);
  log_.undo();
  EXPECT_EQ(content(), before_);
  space_.munmap(code, guest::kPage);
}

} // namespace
} // namespace rdb::debug
