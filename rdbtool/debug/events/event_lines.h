// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events as lines of text, without any debug code: what system calls were made, which functions were called
// with what, who wrote to a variable. For rdb replay --trace-syscalls, --trace-calls and --watch.
#pragma once

#include "rdbtool/debug/events/events.h"
#include "rdbtool/debug/events/signatures.h"
#include "rdbtool/replay/backtrace.h"

#include <optional>
#include <string>
#include <vector>

namespace rdb::debug {

struct TraceOptions {
  std::optional<std::string> syscalls; // names with commas between; empty for all
  std::vector<std::string> calls;      // patterns of function names
  std::vector<std::string> watches;    // NAME, file.c:NAME or ADDRESS[,SIZE]

  bool any() const { return syscalls || !calls.empty() || !watches.empty(); }
};

class EventTrace {
public:
  // Throws UserError for what is not a system call, a variable or an address.
  EventTrace(const TraceOptions& options, Events& events, replay::Replayer& replayer,
             const replay::Backtracer::LineMap& lines, int fd);
  // What was asked for and never found.
  std::vector<std::string> unmatched() const { return events_.unmatched(); }

private:
  void trace_syscalls(const std::string& names);
  void trace_calls(const std::string& glob);
  size_t enter(replay::Replayer& replayer, uint64_t function, uint64_t back);
  size_t leave(replay::Replayer& replayer);
  void watch(const std::string& text);
  void line(GuestAddr pc, const std::string& text);
  // Where the program asked for the system call that libc makes at `pc`.
  GuestAddr program_pc(GuestAddr pc);

  Events& events_;
  replay::Replayer& replayer_;
  replay::Backtracer backtracer_;
  Signatures signatures_;
  struct TracedCall {
    uint64_t sp;       // as it began
    uint64_t function; // that was called
    uint64_t back;     // where it is to return to
  };
  std::map<ThreadId, std::vector<TracedCall>> calls_; // traced ones
  int fd_;
};

} // namespace rdb::debug
