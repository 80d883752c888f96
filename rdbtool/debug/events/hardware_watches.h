// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CPU's own breakpoints on writes: a few small pieces of memory that this process cannot write to without
// a signal. Where the kernel grants them, watching costs nothing until there is a write.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rdb::debug {

class DebugSession;

class HardwareWatches {
public:
  struct WatchedRange {
    uint64_t begin, end;
  };
  static constexpr size_t kMost = 4;                        // breakpoints
  static constexpr uint64_t kLargest = 8;                   // bytes of a range
  static constexpr const char* kOff = "RDB_HARDWARE_WATCH"; // "0" in the environment: never used

  explicit HardwareWatches(DebugSession& session);
  ~HardwareWatches();
  HardwareWatches(const HardwareWatches&) = delete;
  HardwareWatches& operator=(const HardwareWatches&) = delete;

  // Watches these and no others. False: they are too many or too large, or the kernel does not grant it, and
  // nothing is watched.
  bool set(std::span<const WatchedRange> ranges);
  void clear();

private:
  struct Breakpoint {
    uint64_t address, size;
  };
  bool open_all();
  void close_all();
  static void after_fork();

  DebugSession& session_;
  std::vector<Breakpoint> pieces_;
  std::vector<int> descriptors_;
  bool refused_ = false;
};

} // namespace rdb::debug
