// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two ways to run a scenario and their comparison.
#include "tests/guest/syscall_twin_run.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace rdb::test {

int64_t raw_call(uint64_t number, const SyscallArgs& args) {
  int64_t result;
  register uint64_t r10 asm("r10") = args[3];
  register uint64_t r8 asm("r8") = args[4];
  register uint64_t r9 asm("r9") = args[5];
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(args[0]), "S"(args[1]), "d"(args[2]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

TwinGuest::TwinGuest() {
  void* at = mmap(nullptr, kWritable + 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(at, MAP_FAILED);
  begin_ = static_cast<std::byte*>(at);
  EXPECT_EQ(mprotect(begin_ + kWritable, kPage, PROT_NONE), 0);
  EXPECT_EQ(mprotect(begin_ + kWritable + kPage, kPage, PROT_READ), 0);
  EXPECT_EQ(mprotect(begin_ + kWritable + 2 * kPage, kPage, PROT_NONE), 0);
  reset();
}

TwinGuest::~TwinGuest() {
  munmap(begin_, kWritable + 3 * kPage);
}

size_t TwinGuest::writable_prefix(GuestAddr address, size_t size) const {
  if (address < start() || address - start() >= kWritable) return 0;
  return std::min<size_t>(size, kWritable - (address - start()));
}

size_t TwinGuest::readable_prefix(GuestAddr address, size_t size) const {
  uint64_t offset = address - start();
  if (address >= start() && offset >= kWritable + kPage && offset < kWritable + 2 * kPage)
    return std::min<size_t>(size, kWritable + 2 * kPage - offset);
  return writable_prefix(address, size);
}

void TwinGuest::reset() {
  std::memset(begin_, 0xa5, kWritable);
  next_ = 0;
}

void TwinGuest::set_read_only(const void* bytes, size_t size) {
  ASSERT_EQ(mprotect(read_only(), kPage, PROT_READ | PROT_WRITE), 0);
  std::memcpy(read_only(), bytes, size);
  ASSERT_EQ(mprotect(read_only(), kPage, PROT_READ), 0);
}

int64_t TwinRun::perform(uint64_t number, SyscallArgs args, bool compare) {
  const SyscallInfo* info = find_syscall(number);
  EXPECT_NE(info, nullptr) << "system call " << number;
  if (info == nullptr) return -ENOSYS;

  int64_t result;
  writes_.clear();
  if (mode_ == Mode::direct) {
    result = raw_call(number, args);
  } else {
    CallShape shape = shape_of(*info, args);
    EXPECT_NE(shape.call_class, CallClass::refused) << info->name;
    const SyscallArgs& kernel_args = redirected_.prepare(shape, args, guest_);
    if (!needs_redirect(number)) {
      EXPECT_EQ(kernel_args, args) << info->name;
    }
    std::vector<std::byte> before(guest_.writable().begin(), guest_.writable().end());
    result = raw_call(number, kernel_args);
    for (const UnannouncedChange& change :
         unannounced_changes(guest_.start(), before, guest_.writable(), {})) {
      ADD_FAILURE() << info->name << " wrote guest memory directly at offset "
                    << change.address - guest_.start() << ", " << change.size << " bytes";
    }
    std::span<const MemoryWrite> writes = redirected_.finish(result);
    writes_.assign(writes.begin(), writes.end());
    for (const MemoryWrite& write : writes_) {
      EXPECT_EQ(guest_.writable_prefix(write.address, write.size), write.size) << info->name;
      std::memcpy(write.address.ptr(), write.data, write.size);
    }
  }
  if (compare) {
    steps_.push_back({number, result, {guest_.writable().begin(), guest_.writable().end()}});
  } else {
    steps_.push_back({number, result < 0 ? result : 0, {}});
  }
  return result;
}

void TwinRun::expect_write(const void* to, size_t size) const {
  if (mode_ == Mode::direct) return;
  ASSERT_EQ(writes_.size(), 1u);
  EXPECT_EQ(writes_[0].address.ptr<const void>(), to);
  EXPECT_EQ(writes_[0].size, size);
}

void expect_alike(const std::function<void(TwinRun& run, TwinGuest& guest)>& scenario) {
  TwinGuest guest;
  TwinRun direct(TwinRun::Mode::direct, guest);
  scenario(direct, guest);
  guest.reset();
  TwinRun redirected(TwinRun::Mode::redirected, guest);
  scenario(redirected, guest);

  ASSERT_EQ(direct.steps().size(), redirected.steps().size());
  for (size_t i = 0; i < direct.steps().size(); ++i) {
    const TwinRun::Step &expected = direct.steps()[i], &found = redirected.steps()[i];
    const char* name = find_syscall(expected.number)->name;
    EXPECT_EQ(expected.result, found.result) << "call " << i << ", " << name;
    ASSERT_EQ(expected.memory.size(), found.memory.size());
    auto [a, b] = std::ranges::mismatch(expected.memory, found.memory);
    if (a == expected.memory.end()) continue;
    ADD_FAILURE() << "memory differs after call " << i << ", " << name << ", at offset "
                  << a - expected.memory.begin() << ": expected " << std::to_integer<int>(*a) << ", found "
                  << std::to_integer<int>(*b);
  }
}

void Fd::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

TempDir::TempDir() {
  std::string name = std::filesystem::temp_directory_path() / "rdb-syscall-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TempDir::write_file(const std::string& name, const std::string& content) const {
  std::ofstream(path(name), std::ios::binary) << content;
}

} // namespace rdb::test
