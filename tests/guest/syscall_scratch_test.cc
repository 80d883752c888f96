// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scratch memory and the comparison of memory images, by themselves; and redirection of arbitrary arguments.
#include "tests/guest/syscall_twin_run.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::test {
namespace {

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// Whether the kernel can write there.
bool is_writable(const void* pointer) {
  static Fd zero(open("/dev/zero", O_RDONLY));
  return raw_call(SYS_read, {static_cast<uint64_t>(int(zero)), address_of(pointer), 1}) == 1;
}

TEST(ScratchArena, KeepsTheAlignmentOfWhatItReplaces) {
  ScratchArena arena(64 << 10);
  for (uint64_t like : {0x1000u, 0x1001u, 0x1fffu, 0x1234u}) {
    EXPECT_EQ(address_of(arena.allocate(16, like)) % 64, like % 64);
    EXPECT_EQ(address_of(arena.allocate(512, like)) % 4096, like % 4096);
    EXPECT_EQ(address_of(arena.allocate(100 << 10, like)) % 4096, like % 4096); // in a mapping of its own
  }
}

TEST(ScratchArena, EndsWhereItShould) {
  ScratchArena arena(4096);
  EXPECT_FALSE(is_writable(arena.fault_address()));
  for (size_t size : {1u, 100u, 4096u, 5000u}) {
    std::byte* bytes = arena.allocate_before_fault(size);
    EXPECT_TRUE(is_writable(bytes));
    EXPECT_TRUE(is_writable(bytes + size - 1));
    EXPECT_FALSE(is_writable(bytes + size));
    EXPECT_FALSE(is_writable(bytes + size + 4096));
  }
}

TEST(ScratchArena, GivesWholeBuffersHoweverLarge) {
  ScratchArena arena(4096);
  std::vector<std::pair<std::byte*, size_t>> taken;
  for (size_t size : {100u, 4000u, 5000u, 100000u, 64u << 20, 30u}) {
    std::byte* bytes = arena.allocate(size, 0x17);
    bytes[0] = bytes[size - 1] = std::byte{1};
    for (auto [other, length] : taken)
      EXPECT_TRUE(bytes + size <= other || other + length <= bytes);
    taken.emplace_back(bytes, size);
  }
  arena.reset();
  EXPECT_FALSE(is_writable(taken[4].first)) << "64 MiB are given back";
  std::byte* again = arena.allocate(100, 0x17);
  EXPECT_EQ(again, taken[0].first);
}

MemoryWrite write_at(GuestAddr to, size_t size) {
  return {to, nullptr, size};
}

TEST(PageDiff, ReportsWhatNobodyAnnounced) {
  std::vector<std::byte> before(10000), after(10000);
  after[5] = after[6] = after[9] = std::byte{1};
  after[4095] = after[4096] = after[9999] = std::byte{2};
  GuestAddr start(0x10000);
  auto changes = unannounced_changes(start, before, after, {});
  ASSERT_EQ(changes.size(), 4u);
  EXPECT_EQ(changes[0].address, start + 5);
  EXPECT_EQ(changes[0].size, 2u);
  EXPECT_EQ(changes[1].address, start + 9);
  EXPECT_EQ(changes[2].address, start + 4095);
  EXPECT_EQ(changes[2].size, 2u);
  EXPECT_EQ(changes[3].address, start + 9999);

  std::vector<MemoryWrite> announced = {write_at(start + 5, 2), write_at(start + 9, 4087)};
  changes = unannounced_changes(start, before, after, announced);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].address, start + 4096);
  EXPECT_EQ(changes[0].size, 1u);
  EXPECT_EQ(unannounced_changes(start, before, after, announced, 1).size(), 1u);
  EXPECT_TRUE(unannounced_changes(start, before, before, announced).empty());
  EXPECT_TRUE(unannounced_changes(start, {}, {}, {}).empty());
}

// Whatever a guest passes, no output argument may reach the kernel as an address of its writable memory, and
// no write may fall outside it. The calls are not performed: the kernel could do anything with such
// arguments.
TEST(RedirectedCall, HidesGuestMemoryWhateverTheArguments) {
  TwinGuest guest;
  ScratchArena arena(64 << 10);
  RedirectedCall call(arena);
  uint64_t state = 7;
  auto random = [&] { return state = state * 6364136223846793005 + 1442695040888963407; };
  uint64_t start = guest.start().value;
  auto argument = [&]() -> uint64_t {
    switch (random() >> 61) {
    case 0:
      return random();
    case 1:
      return 0;
    case 2:
      return start + TwinGuest::kWritable - (random() >> 32) % 64;
    case 3:
      return random() >> 56;
    case 4:
      return static_cast<uint64_t>(-1) - (random() >> 60);
    default:
      return start + (random() >> 32) % TwinGuest::kWritable;
    }
  };
  for (const SyscallInfo& info : syscall_table()) {
    for (int i = 0; i < 40; ++i) {
      guest.reset();
      SyscallArgs args;
      for (uint64_t& arg : args)
        arg = argument();
      // Half of the structures hold small numbers and guest addresses rather than the pattern.
      for (int word = 0; i % 2 == 0 && word < 64; ++word) {
        uint64_t value = argument();
        std::memcpy(GuestAddr(start + (random() >> 32) % (TwinGuest::kWritable - 8)).ptr(), &value, 8);
      }
      if (info.variants != nullptr && i % 4 != 3) {
        auto variants = info.variants->variants;
        args[info.variants->selector_arg] =
            variants[(random() >> 32) % variants.size()].selector & 0xffffffff;
      }
      CallShape shape = shape_of(info, args);
      std::vector<std::byte> before(guest.writable().begin(), guest.writable().end());
      const SyscallArgs& redirected = call.prepare(shape, args, guest);
      for (unsigned arg = 0; arg < 6; ++arg) {
        if (arg >= info.arg_count || !is_output(shape.arg(arg).kind)) {
          EXPECT_EQ(redirected[arg], args[arg]) << info.name;
        }
      }
      int64_t result = static_cast<int64_t>(random()) >> (random() >> 59);
      for (const MemoryWrite& write : call.finish(result))
        EXPECT_EQ(guest.writable_prefix(write.address, write.size), write.size) << info.name;
      EXPECT_TRUE(unannounced_changes(guest.start(), before, guest.writable(), {}).empty()) << info.name;
    }
  }
}

} // namespace
} // namespace rdb::test
