// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a scenario of system calls twice, once straight into the kernel and once through RedirectedCall, on
// the same small piece of guest memory, and expects every result and every byte of that memory to be alike.
// In the redirected run the kernel must not touch guest memory by itself.
#pragma once

#include "rdbtool/syscalls/redirected_call.h"
#include "tests/guest/page_diff.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace rdb::test {

// Sixteen writable pages, an inaccessible one, a read-only one, an inaccessible one.
class TwinGuest final : public AccessibleMemory {
public:
  static constexpr size_t kPage = 4096;
  static constexpr size_t kWritable = 16 * kPage;

  TwinGuest();
  ~TwinGuest() override;

  size_t readable_prefix(GuestAddr address, size_t size) const override;
  size_t writable_prefix(GuestAddr address, size_t size) const override;

  // Everything as it was: a pattern in the writable pages.
  void reset();

  // The next bytes of the writable pages, aligned to 16.
  template <class T = char>
  T* take(size_t count = 1) {
    next_ = (next_ + 15) & ~size_t{15};
    T* taken = reinterpret_cast<T*>(begin_ + next_);
    next_ += count * sizeof(T);
    EXPECT_LE(next_, kWritable - kPage);
    return taken;
  }
  template <class T>
  T* put(const T& value) {
    T* taken = take<T>();
    *taken = value;
    return taken;
  }
  const char* put_string(const std::string& text) {
    char* taken = take(text.size() + 1);
    std::memcpy(taken, text.c_str(), text.size() + 1);
    return taken;
  }
  // An address with only `size` writable bytes behind it.
  void* edge(size_t size) { return begin_ + kWritable - size; }
  // Bytes that can be read and not written.
  void* read_only() { return begin_ + kWritable + kPage; }
  void set_read_only(const void* bytes, size_t size);
  void* inaccessible() { return begin_ + kWritable + 64; }

  std::span<const std::byte> writable() const { return {begin_, kWritable}; }
  GuestAddr start() const { return GuestAddr(reinterpret_cast<uint64_t>(begin_)); }

private:
  std::byte* begin_ = nullptr;
  size_t next_ = 0;
};

class TwinRun {
public:
  enum class Mode { direct, redirected };

  TwinRun(Mode mode, TwinGuest& guest) : mode_(mode), guest_(guest) {}

  // Performs the call; result and memory must be the same in both runs.
  template <class... Args>
  int64_t call(uint64_t number, Args... args) {
    return perform(number, {to_word(args)...}, true);
  }
  // The same for calls whose output differs from one moment to the next; what is expected of it is up to the
  // scenario. Only whether they fail must be the same. Memory is blanked afterwards by forget().
  template <class... Args>
  int64_t changing_call(uint64_t number, Args... args) {
    return perform(number, {to_word(args)...}, false);
  }
  void forget(void* bytes, size_t size) { std::memset(bytes, 0, size); }

  Mode mode() const { return mode_; }
  // What the last call wrote, if it was redirected.
  const std::vector<MemoryWrite>& writes() const { return writes_; }
  // In the redirected run: the last call wrote exactly these bytes, as one piece.
  void expect_write(const void* to, size_t size) const;

  struct Step {
    uint64_t number;
    int64_t result;
    std::vector<std::byte> memory;
  };
  const std::vector<Step>& steps() const { return steps_; }

private:
  template <class T>
  static uint64_t to_word(T value) {
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<uint64_t>(value);
    } else if constexpr (std::is_null_pointer_v<T>) {
      return 0;
    } else {
      return static_cast<uint64_t>(static_cast<int64_t>(value));
    }
  }
  int64_t perform(uint64_t number, SyscallArgs args, bool compare);

  Mode mode_;
  TwinGuest& guest_;
  ScratchArena arena_{64 << 10};
  RedirectedCall redirected_{arena_};
  std::vector<MemoryWrite> writes_;
  std::vector<Step> steps_;
};

int64_t raw_call(uint64_t number, const SyscallArgs& args);

void expect_alike(const std::function<void(TwinRun& run, TwinGuest& guest)>& scenario);

// A descriptor that closes itself.
class Fd {
public:
  explicit Fd(int fd) : fd_(fd) { EXPECT_GE(fd, 0) << "cannot open a descriptor: errno " << errno; }
  ~Fd() { reset(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  operator int() const { return fd_; }
  void reset();

private:
  int fd_;
};

// A temporary directory with one file, removed at the end.
class TempDir {
public:
  TempDir();
  ~TempDir();
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  void write_file(const std::string& name, const std::string& content) const;

private:
  std::string path_;
};

} // namespace rdb::test
