// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls debug code from inside a replay: with a floating point unit of its own, a way out when it misbehaves,
// its calls into the guest undone, and its output in place.
#pragma once

#include "rdbtool/debug/isolation/fallback.h"
#include "rdbtool/debug/isolation/nested_call.h"
#include "rdbtool/debug/isolation/refusal.h"
#include "rdbtool/debug/isolation/write_guard.h"
#include "rdbtool/debug/isolation/x87.h"
#include "rdbtool/replay/replayer.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace rdb::debug {

class Bundle;

struct RunnerOptions {
  bool prefix = false; // time, thread, file:line before each line of debug output
  std::string output;  // a file for debug output instead of standard output
  bool append = false; // to what that file holds
  bool timed = false;  // count ticks and lines
  Protect protect = Protect::off;
  double timeout = 10; // seconds until debug code is given up; 0: never
  bool retry = false;  // run debug code again that had to be given up; its output says why it was
};

class RegionRunner {
public:
  explicit RegionRunner(const RunnerOptions& options);
  ~RegionRunner();
  RegionRunner(const RegionRunner&) = delete;
  RegionRunner& operator=(const RegionRunner&) = delete;

  // Before the first call: the replay that debug code is called in.
  void attach(replay::Replayer& replayer);
  Fallback& fallback() { return fallback_; }
  // Loads a bundle's module, whose constructors are debug code, too.
  void load(Bundle& bundle, uint64_t bias);
  // Where debug output goes while standard output is something else; -1 if it is not.
  int terminal() const { return terminal_; }
  // Why some of the debug output could not be written; 0 if all was.
  int lost_output() const { return lost_output_; }
  // Standard output is a place of its own, from which lines are taken to be counted and shown.
  bool keeps_output() const { return captured_ >= 0; }

  using Code = void (*)(void*);
  // Runs debug code, which finds this in errno. If it has to be given up, `count.disabled` says why, and so
  // does a message.
  void run(RegionCount& count, Code code, void* argument, int error = 0);

  // The same from a fast hook (see engine::DirectHook), for code that is_plain_code(). `error(context)` is
  // asked for errno if it comes to use libc after all.
  using AskError = int (*)(void* context);
  bool may_run_fast() const { return fast_.allowed && !(fallback_.in_use() && fallback_.is_busy(ticks_)); }
  static void use_libc();
  void run_fast(RegionCount& count, Code code, void* argument, AskError error, void* context);

  bool host_fault(int signal, siginfo_t* info, void* context);
  // libc has called abort.
  void aborted(void* context);
  // A tick of the clock that watches over debug code.
  void tick(void* context);

private:
  bool may_run(RegionCount& count);
  bool call(Code code, void* argument, int error);
  // Does the file hold something that is not written out yet? True if unsure: to ask libc is a call.
  static bool may_be_pending(const FILE* file) {
    return file->_IO_write_ptr != file->_IO_write_base || file->_mode > 0;
  }
  void flush_output();
  void begin_libc();
  void end_fast(RegionCount& count, bool completed) noexcept;
  bool must_not_be_left(void* context) const;
  void begin_giving_up();
  void report(RegionCount& count, bool completed);
  void give_up_after(RegionCount& count);
  void show_output(RegionCount& count);
  void start_clock();
  void report_stray(const RegionCount& count);

  RunnerOptions options_;
  replay::Replayer* replayer_ = nullptr;
  std::unique_ptr<NestedCalls> nested_;
  WriteGuard guard_;
  Fallback fallback_;
  // Code that run_fast() runs.
  struct Fast {
    bool allowed = false;
    AskError error = nullptr;
    void* context = nullptr;
  } fast_;
  static inline RegionRunner* fast_runner_ = nullptr; // that it is run by
  std::optional<X87> x87_;                            // the guest's, while it uses libc
  volatile uint64_t ticks_ = 0;                       // of the clock, so far
  bool has_x87_flag_ = false;                         // the CPU can tell whether x87 is in its initial state
  uint64_t ticked_run_ = 0;                           // the run that was seen at the last tick
  uint64_t ticks_in_run_ = 0;
  volatile bool gives_up_ = false; // debug code was left, and is reported
  sigset_t mask_ = {};
  int lost_output_ = 0;
  int terminal_ = -1; // where debug output goes, while standard output is something else
  int captured_ = -1; // where debug output is kept before it gets its prefix
};

} // namespace rdb::debug
