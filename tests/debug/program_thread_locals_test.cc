// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a thread's block of variables is: below the thread pointer, at a distance that the dynamic linker has
// written down, or in its table. This process's own threads show whether that is what glibc does.
#include "rdbtool/base/own_memory.h"
#include "rdbtool/debug/regions/program_thread_locals.h"

#include <atomic>
#include <gtest/gtest.h>
#include <link.h>
#include <thread>

namespace rdb::debug {
namespace {

thread_local int own_variable = 1;

// This process's memory, as if it were the program's.
class OwnMemory : public engine::GuestMemory {
public:
  size_t read(GuestAddr from, void* to, size_t size) override {
    return read_own_memory(from.ptr(), to, size);
  }
  size_t write(GuestAddr, const void*, size_t) override { return 0; }
  size_t read_code(GuestAddr, void*, size_t) override { return 0; }
  CodeWatch watch_code_page(GuestAddr) override { return CodeWatch::compare; }
};

uint64_t address_of(const void* object) {
  return reinterpret_cast<uint64_t>(object);
}

uint64_t thread_pointer() {
  uint64_t base;
  asm volatile("rdfsbase %0" : "=r"(base));
  return base;
}

// What the dynamic linker says of the module that has this thread's own_variable.
struct OwnModule {
  size_t number = 0;
  uint64_t block = 0;
  uint64_t below = 0; // size of the block, rounded up to its alignment
};

OwnModule own_module() {
  OwnModule result;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        auto& found = *static_cast<OwnModule*>(argument);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & header = info->dlpi_phdr[i];
          uint64_t block = address_of(info->dlpi_tls_data);
          if (header.p_type != PT_TLS || block == 0) continue;
          if (address_of(&own_variable) - block >= header.p_memsz) continue;
          found.number = info->dlpi_tls_modid;
          found.block = block;
          found.below = (header.p_memsz + header.p_align - 1) / header.p_align * header.p_align;
        }
        return 0;
      },
      &result);
  return result;
}

class ProgramThreadLocalsTest : public testing::Test {
protected:
  uint64_t find(const ThreadBlockRule& rule, uint64_t thread) {
    return find_thread_block(memory_, rule, 0, thread);
  }
  // As glibc has it: a word beside the thread pointer leads to the table.
  uint64_t thread() const { return address_of(thread_words_); }
  void make_table() { thread_words_[1] = address_of(table_ + 2); }

  OwnMemory memory_;
  uint64_t number_ = 2, offset_ = 0;
  uint64_t thread_words_[2] = {};
  uint64_t table_[10] = {
      3, 0, /* of no file */ 0x9999, 0, /* 1 */ 0x1111, 0, /* 2 */ 0x2222, 0, /* 3 */ ~0ull, 0};
};

TEST_F(ProgramThreadLocalsTest, AProgramsBlockIsBelowTheThreadPointer) {
  EXPECT_EQ(find({.below = 0x40}, 0x7000), 0x6FC0u);
  OwnModule own = own_module();
  EXPECT_EQ(find({.below = own.below}, thread_pointer()), own.block);
}

TEST_F(ProgramThreadLocalsTest, ALibrarysBlockIsInTheTable) {
  make_table();
  ThreadBlockRule rule{.number_at = address_of(&number_)};
  EXPECT_EQ(find(rule, thread()), 0x2222u);
  number_ = 1;
  EXPECT_EQ(find(rule, thread()), 0x1111u);
}

TEST_F(ProgramThreadLocalsTest, TheTableIsGlibcs) {
  OwnModule own = own_module();
  number_ = own.number;
  ThreadBlockRule rule{.number_at = address_of(&number_)};
  EXPECT_EQ(find(rule, thread_pointer()), own.block);
  uint64_t other_thread = 0, other_block = 0;
  std::atomic<int> stage = 0;
  std::thread other([&] {
    other_thread = thread_pointer();
    other_block = own_module().block;
    stage = 1;
    stage.notify_all();
    stage.wait(1);
  });
  stage.wait(0);
  EXPECT_NE(other_block, own.block);
  EXPECT_EQ(find(rule, other_thread), other_block);
  stage = 2;
  stage.notify_all();
  other.join();
}

TEST_F(ProgramThreadLocalsTest, NoBlockYet) {
  make_table();
  ThreadBlockRule rule{.number_at = address_of(&number_)};
  number_ = 3; // glibc makes a block when a variable in it is first used
  EXPECT_EQ(find(rule, thread()), 0u);
  number_ = 4; // the thread's table was made before the file was loaded, and is too short
  EXPECT_EQ(find(rule, thread()), 0u);
  number_ = 0; // the dynamic linker has not written the number yet
  EXPECT_EQ(find(rule, thread()), 0u);
  number_ = 2;
  thread_words_[1] = 0x1000; // a table that cannot be read
  EXPECT_EQ(find(rule, thread()), 0u);
  EXPECT_EQ(find({}, thread()), 0u);
}

TEST_F(ProgramThreadLocalsTest, ALibraryMayKnowADistance) {
  ThreadBlockRule rule{.offset_at = address_of(&offset_), .offset_of = 0x10};
  EXPECT_EQ(find(rule, 0x7000), 0u);
  offset_ = static_cast<uint64_t>(-0x100);
  EXPECT_EQ(find(rule, 0x7000), 0x6EF0u);
  rule.offset_at = 0x1000; // cannot be read
  EXPECT_EQ(find(rule, 0x7000), 0u);
}

TEST_F(ProgramThreadLocalsTest, AddressesOfTheFileMoveWithIt) {
  make_table();
  ThreadBlockRule rule{.number_at = 0x100};
  EXPECT_EQ(find_thread_block(memory_, rule, address_of(&number_) - 0x100, thread()), 0x2222u);
}

descriptors::Descriptors with_symbols() {
  descriptors::Descriptors d;
  d.symbols.push_back({.name = "plain"});
  d.symbols.push_back({.name = "own", .thread_local_ = true});
  d.symbols.push_back({.name = "other's", .owner = descriptors::Owner::library, .thread_local_ = true});
  return d;
}

TEST_F(ProgramThreadLocalsTest, WhatDebugCodeUses) {
  ProgramThreadLocals none;
  none.attach({}, {.below = 8});
  EXPECT_FALSE(none.any());
  ProgramThreadLocals by_name;
  by_name.attach(with_symbols(), {.below = 8});
  EXPECT_TRUE(by_name.any());
  EXPECT_EQ(by_name.symbols(), std::vector<size_t>{1});
  descriptors::Descriptors d;
  d.arguments.push_back({.parts = {{.cls = descriptors::Class::stack}, {.cls = descriptors::Class::tls}}});
  ProgramThreadLocals by_argument;
  by_argument.attach(d, {.below = 8});
  EXPECT_TRUE(by_argument.any());
  EXPECT_TRUE(by_argument.symbols().empty());
}

TEST_F(ProgramThreadLocalsTest, IsLookedForAgainWhereItMayBeAnother) {
  ProgramThreadLocals locals;
  locals.attach(with_symbols(), {.offset_at = address_of(&offset_)});
  EXPECT_TRUE(locals.use_thread(memory_, 0, 0x7000));
  EXPECT_EQ(locals.block(), 0u);
  offset_ = 0x20;
  EXPECT_TRUE(locals.use_thread(memory_, 0, 0x7000)); // it was not there before
  EXPECT_EQ(locals.block(), 0x7020u);
  EXPECT_FALSE(locals.use_thread(memory_, 0, 0x7000));
  EXPECT_TRUE(locals.use_thread(memory_, 0, 0x8000));
  EXPECT_EQ(locals.block(), 0x8020u);
  EXPECT_TRUE(locals.use_thread(memory_, 0, 0x7000));
  locals.forget();
  offset_ = 0x30;
  EXPECT_TRUE(locals.use_thread(memory_, 0, 0x7000));
  EXPECT_EQ(locals.block(), 0x7030u);
}

} // namespace
} // namespace rdb::debug
