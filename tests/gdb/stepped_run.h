// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run kept as an array: a real program is single-stepped once, and the registers and changed memory of
// every step are written down. Slow and simple, so that what the server shows can be compared with it.
#pragma once

#include "tests/gdb/tracee.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdb::gdb {

struct SteppedRun {
  struct Change {
    GuestAddr address;
    Bytes before, after;
  };
  struct Access {
    GuestAddr address;
    uint64_t size;
    bool read, write;
  };
  // The way from a state to the one after it.
  struct Step {
    ThreadId thread;
    bool instruction; // else an input
    std::vector<Change> changes;
    std::vector<Access> accesses;
  };
  struct State {
    Position at;
    ThreadId next; // the thread that executes next
    // What a run that arrives here may stop for.
    enum class Event : uint8_t { none, syscall_entry, syscall_return, signal } event = Event::none;
    int64_t number = 0;
    std::array<std::byte, 128> siginfo{};
    bool input_pending = false;
  };
  struct Thread {
    std::string name;
    size_t first = 0;                                      // state in which it appears
    size_t end = SIZE_MAX;                                 // and the first without it
    std::vector<std::pair<size_t, ThreadRegisters>> known; // registers from this state on
  };

  std::vector<std::string> argv;
  std::string function;
  int32_t pid = 0;
  std::vector<State> states;
  std::vector<Step> steps; // steps[i] leads from states[i] to states[i + 1]
  std::map<int32_t, Thread> threads;
  std::map<uint64_t, Bytes> memory; // at states[0], by address
  std::vector<MemoryRegion> mappings;
  Bytes auxv;
  ProgramEnd ending;
};

// Runs the program to its end from the beginning of `function` on. Threads take turns of `turn` instructions.
SteppedRun record_stepped_run(const std::vector<std::string>& argv, const std::string& function,
                              unsigned turn = 50);

} // namespace rdb::gdb
