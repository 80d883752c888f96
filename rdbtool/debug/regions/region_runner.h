// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls debug code from inside a replay, and survives it.
//
// A debug function is called like any other, on rdb's own stack, while the program stands still. But it is
// the user's code. It must find the processor as a fresh program does, and leave it as the recorded program
// needs it. It may crash, overflow its stack, hang, throw, call abort(), or write over rdb's memory. So run()
// puts layers around the call, from the outside in:
// - CrashRecovery keeps a copy of the process from before, which goes on if this one cannot;
// - X87 puts the program's floating point unit aside (its vector registers and FS base are saved already);
// - NestedCalls undoes what the function, and functions of the program that it calls, write to the program's
//   memory;
// - call() notes an AbortPoint. Whoever finds that the function must not go on (the handler of a fault, the
//   clock's tick, the function that stands in for exit()) jumps back there with abort_debug_code().
//
// Then the output is written out, and if the function was left, the user is told why, and the function's
// RegionCount says that it is not run any more.
//
// Most debug functions are short, and do nothing that needs these layers, which cost more than the function
// itself. Those that use only general registers (is_plain_code()) are called by run_fast() straight from
// translated code, while the FS base and the vector registers are still the program's. If such a function
// comes to a call of libc after all, its module calls use_libc() first, which does then what run() does
// before the call.
#pragma once

#include "rdbtool/debug/debug_session.h"
#include "rdbtool/debug/isolation/crash_recovery.h"
#include "rdbtool/debug/isolation/nested_call.h"
#include "rdbtool/debug/isolation/write_guard.h"
#include "rdbtool/debug/isolation/x87.h"
#include "rdbtool/debug/regions/debug_output.h"
#include "rdbtool/replay/replayer.h"

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
  RegionRunner(DebugSession& session, const RunnerOptions& options);
  ~RegionRunner();
  RegionRunner(const RegionRunner&) = delete;
  RegionRunner& operator=(const RegionRunner&) = delete;

  // Before the first call: the replay that debug code is called in.
  void attach(replay::Replayer& replayer);
  DebugSession& session() { return session_; }
  CrashRecovery& crash_recovery() { return crash_recovery_; }
  const DebugOutput& output() const { return output_; }
  DebugOutput& output() { return output_; }
  // After attach().
  NestedCalls& nested() { return *nested_; }
  // Loads a bundle's module, whose constructors are debug code, too.
  void load(Bundle& bundle, uint64_t bias);

  using DebugFunction = void (*)(void*);
  // What debug code finds in errno.
  enum class Errno : uint8_t { zero, of_thread };
  // Runs debug code. If it has to be given up, `count.disabled` says why, and so does a message.
  void run(RegionCount& count, DebugFunction function, void* argument, Errno error = Errno::zero);

  // The same from a fast hook (see engine::DirectHook), for code that is_plain_code().
  bool may_run_fast() const {
    return fast_allowed_ && !(crash_recovery_.in_use() && crash_recovery_.is_busy(ticks_));
  }
  void run_fast(RegionCount& count, DebugFunction function, void* argument, Errno error);
  // Called by the module before everything that needs libc.
  static void use_libc();

  bool host_fault(int signal, siginfo_t* info, void* context);
  // libc has called abort.
  void aborted(void* context);
  // A tick of the clock that watches over debug code.
  void tick(void* context);

private:
  bool may_run(RegionCount& count);
  bool call(DebugFunction function, void* argument, int error);
  int errno_now(Errno which);
  void begin_libc();
  void end_fast(RegionCount& count, bool completed) noexcept;
  bool must_not_be_left(void* context) const;
  void begin_giving_up();
  void report(RegionCount& count, bool completed);
  void report_abort(RegionCount& count);
  void start_clock();
  void report_stray(const RegionCount& count);

  DebugSession& session_;
  RunnerOptions options_;
  replay::Replayer* replayer_ = nullptr;
  std::unique_ptr<NestedCalls> nested_;
  WriteGuard guard_;
  CrashRecovery crash_recovery_;
  bool fast_allowed_ = false;
  Errno fast_errno_ = Errno::zero; // of the code that run_fast() runs
  std::optional<X87> x87_;         // the guest's, while such code uses libc
  volatile uint64_t ticks_ = 0;    // of the clock, so far
  bool has_x87_flag_ = false;      // the CPU can tell whether x87 is in its initial state
  uint64_t ticked_run_ = 0;        // the run that was seen at the last tick
  uint64_t ticks_in_run_ = 0;
  volatile bool reports_abort_ = false; // debug code was left, and is reported
  sigset_t mask_ = {};
  DebugOutput output_;
};

} // namespace rdb::debug
