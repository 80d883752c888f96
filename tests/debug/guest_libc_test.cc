// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a libc has its errno, streams, allocators and longjmp. This process's own shows whether that is
// right.
#include "rdbtool/debug/isolation/guest_libc.h"
#include "tests/debug/fake_replay.h"

#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <link.h>

namespace rdb::debug {
namespace {

uint64_t address_in_libc(const char* name) {
  static void* const libc = dlopen(LIBC_SO, RTLD_NOW);
  return reinterpret_cast<uint64_t>(dlsym(libc, name));
}

// The path and the begin of this process's libc.
link_map* own_libc() {
  link_map* map = nullptr;
  dlinfo(dlopen(LIBC_SO, RTLD_NOW), RTLD_DI_LINKMAP, &map);
  return map;
}

class GuestLibcTest : public testing::Test {
protected:
  // __errno_location() as glibc has it, with or without endbr64, that loads this offset.
  uint64_t make_errno_location(bool endbr, uint64_t offset) {
    std::vector<uint8_t> code = {0x48, 0x8B, 0x05, 0x40, 0, 0, 0, 0x64, 0x48,
                                 0x03, 0x04, 0x25, 0,    0, 0, 0, 0xC3};
    if (endbr) code.insert(code.begin(), {0xF3, 0x0F, 0x1E, 0xFA});
    uint64_t begin = replay_.map_code(code);
    FakeReplay::word(begin + (endbr ? 4 : 0) + 7 + 0x40) = offset;
    return begin;
  }

  FakeReplay replay_;
  GuestLibc libc_;
};

TEST_F(GuestLibcTest, ErrnoFromTheCodeThatFindsIt) {
  EXPECT_EQ(errno_offset_in(replay_.space, make_errno_location(false, 0x88)), 0x88u);
  EXPECT_EQ(errno_offset_in(replay_.space, make_errno_location(true, static_cast<uint64_t>(-16))),
            static_cast<uint64_t>(-16));
  EXPECT_EQ(errno_offset_in(replay_.space, replay_.map_code({0x48, 0x8D, 0x05, 0, 0, 0, 0})), std::nullopt);
  EXPECT_EQ(errno_offset_in(replay_.space, replay_.map_code({0x48, 0x8B, 0x05, 0, 0, 0, 0x70})),
            std::nullopt);
  EXPECT_EQ(errno_offset_in(replay_.space, 0x1000), std::nullopt);
}

TEST_F(GuestLibcTest, NothingIsKnownBeforeItIsMapped) {
  EXPECT_EQ(libc_.errno_of(replay_.space, replay_.map(1)), 0);
  EXPECT_EQ(libc_.errno_offset(), std::nullopt);
  EXPECT_EQ(libc_.stream(GuestLibc::Stream::output), 0u);
  EXPECT_TRUE(libc_.allocators().empty());
  EXPECT_TRUE(libc_.nonlocal_exits().empty());
}

TEST_F(GuestLibcTest, ThisProcesssOwn) {
  link_map* own = own_libc();
  ASSERT_NE(own, nullptr);
  ProgramFile file(own->l_name);
  libc_.attach(file, own->l_addr);
  EXPECT_EQ(libc_.stream(GuestLibc::Stream::output), reinterpret_cast<uint64_t>(stdout));
  EXPECT_EQ(libc_.stream(GuestLibc::Stream::error), reinterpret_cast<uint64_t>(stderr));
  EXPECT_EQ(libc_.allocators().size(), 5u);
  EXPECT_EQ(libc_.allocators().front(), address_in_libc("malloc"));
  ASSERT_EQ(libc_.nonlocal_exits().size(), 2u);
  EXPECT_EQ(libc_.nonlocal_exits()[0], address_in_libc("longjmp"));
  EXPECT_EQ(libc_.nonlocal_exits()[1], address_in_libc("__longjmp_chk"));
  uint64_t thread = replay_.engine.registers().fs_base;
  errno = 77;
  EXPECT_EQ(libc_.errno_of(replay_.space, thread), 77);
  EXPECT_EQ(libc_.errno_offset(), reinterpret_cast<uint64_t>(&errno) - thread);
}

// One that comes with glibc, and has malloc() and its kin.
TEST_F(GuestLibcTest, TheBlocksOfAnotherLibraryAreNotKnown) {
  std::string libc = own_libc()->l_name;
  ProgramFile other(libc.substr(0, libc.rfind('/')) + "/libc_malloc_debug.so.0");
  ASSERT_TRUE(other.exported("malloc"));
  libc_.attach(other, 0x10000);
  EXPECT_EQ(libc_.errno_of(replay_.space, replay_.map(1)), 0);
  EXPECT_EQ(libc_.stream(GuestLibc::Stream::output), 0u);
  EXPECT_TRUE(libc_.allocators().empty());
  EXPECT_TRUE(libc_.nonlocal_exits().empty());
}

} // namespace
} // namespace rdb::debug
