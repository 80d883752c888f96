// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/region_runner.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/regions/bundle.h"
#include "rdbtool/replay/backtrace.h"

#include <algorithm>
#include <cerrno>
#include <cpuid.h>
#include <cstdio>
#include <cstring>
#include <immintrin.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

constexpr int kTick = 50'000; // microseconds
// Code that is not the module's own is given this many ticks to come back to it: it may hold a lock.
constexpr uint64_t kPatience = 20;

// The debug code's own frames; those of rdb around them are nobody's business.
std::vector<replay::BacktraceFrame> backtrace_of(const CapturedStack& captured) {
  auto read = [&](uint64_t address, uint64_t* word) {
    uint64_t offset = address - captured.stack_begin;
    if (address < captured.stack_begin || offset + 8 > captured.stack.size()) return false;
    std::memcpy(word, captured.stack.data() + offset, 8);
    return true;
  };
  constexpr size_t kMost = 32;
  std::vector<replay::BacktraceFrame> frames = replay::host_backtrace(captured.registers, read, 2 * kMost);
  auto is_caller = [](const replay::BacktraceFrame& frame) {
    return frame.function.find("rdb::debug::RegionRunner::") != std::string::npos;
  };
  // Between calls of the libraries, of the program, and back from there.
  auto is_ours = [](const replay::BacktraceFrame& frame) {
    return frame.function.find("rdb::debug::") != std::string::npos || // a template's begins with its type
           frame.function.starts_with("_Unwind_") || frame.function == "rdb_call_host" ||
           frame.function == "rdb_nested_stub" || frame.function == "rdb_nested_call";
  };
  frames.erase(std::find_if(frames.begin(), frames.end(), is_caller), frames.end());
  std::erase_if(frames, is_ours);
  if (frames.size() > kMost) frames.resize(kMost);
  return frames;
}

bool cpu_tells_use() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(0xD, 1, &a, &b, &c, &d) != 0 && (a & 4) != 0;
}

} // namespace

RegionRunner::RegionRunner(DebugSession& session, const RunnerOptions& options)
    : session_(session), options_(options), guard_(session.stray_stack), crash_recovery_(session),
      has_x87_flag_(cpu_tells_use()), output_({.file = options.output,
                                               .append = options.append,
                                               .prefix = options.prefix,
                                               .count_lines = options.timed}) {
  session.runner = this;
}

RegionRunner::~RegionRunner() {
  session_.runner = nullptr;
}

void RegionRunner::attach(replay::Replayer& replayer) {
  if (replayer_ != nullptr) return;
  replayer_ = &replayer;
  guard_.attach(replayer.space(), options_.protect);
  nested_ = std::make_unique<NestedCalls>(session_, replayer, guard_);
  fast_allowed_ = !options_.timed && !output_.is_captured() && !guard_.reports();
  sigprocmask(SIG_SETMASK, nullptr, &mask_);
  guest::set_disposition(SIGABRT, guest::Disposition::received, SA_RESTART);
  start_clock();
}

void RegionRunner::start_clock() {
  if (options_.timeout <= 0) return;
  guest::set_disposition(SIGALRM, guest::Disposition::received, SA_RESTART);
  itimerval interval = {{0, kTick}, {0, kTick}};
  setitimer(ITIMER_REAL, &interval, nullptr);
}

void RegionRunner::load(Bundle& bundle, uint64_t bias) {
  if (crash_recovery_.begin_loading(bundle.path())) start_clock();
  // What goes wrong without ending the process is told by an exception.
  std::unique_ptr<DebugSession, void (*)(DebugSession*)> watched(
      &session_, [](DebugSession* session) { session->end_loading(); });
  ticks_in_run_ = 0;
  bundle.load(session_, bias);
}

int RegionRunner::errno_now(Errno which) {
  if (which == Errno::zero) return 0;
  return session_.libc.errno_of(replayer_->space(), replayer_->registers().fs_base);
}

void RegionRunner::run(RegionCount& count, DebugFunction function, void* argument, Errno error) {
  if (crash_recovery_.in_use()) {
    if (crash_recovery_.is_busy(ticks_) && !may_run(count)) return;
    crash_recovery_.enter(count);
  }
  ++count.hits;
  const int initial_errno = errno_now(error);
  bool completed;
  {
    X87 x87(replayer_->translator().uses_x87(), has_x87_flag_);
    uint64_t start = options_.timed ? __rdtsc() : 0;
    nested_->begin_region();
    completed = call(function, argument, initial_errno);
    nested_->end_region();
    if (!completed) X87::clear();
    if (options_.timed) count.ticks += __rdtsc() - start;
  }
  if (!completed) begin_giving_up();
  output_.flush();
  if (!completed || output_.is_captured() || guard_.reports()) report(count, completed);
  crash_recovery_.leave();
}

// Debug code that runs with the guest's FS base and vector registers is about to use libc, for which these
// are the host's by now.
void RegionRunner::begin_libc() {
  x87_.emplace(replayer_->translator().uses_x87(), has_x87_flag_);
  nested_->begin_region();
  errno = errno_now(fast_errno_);
}

// What is left to do after such code if it used libc, printed something or was given up. It is called where
// nothing must be thrown.
void RegionRunner::end_fast(RegionCount& count, bool completed) noexcept {
  try {
    nested_->end_region();
    if (!completed) {
      // Out of a signal handler, perhaps.
      sigprocmask(SIG_SETMASK, &mask_, nullptr);
      if (!x87_) x87_.emplace(replayer_->translator().uses_x87(), has_x87_flag_);
      X87::clear();
      begin_giving_up();
    }
    output_.flush();
    if (!completed) report(count, false);
    x87_.reset();
    replayer_->settle();
  } catch (...) {
    x87_.reset();
    replayer_->translator().fail_hook(std::current_exception());
  }
}

// Makes a copy of the process first if it is time for one. False: this is where debug code went wrong in a
// later copy.
bool RegionRunner::may_run(RegionCount& count) {
  auto aborts = [&] {
    if (!crash_recovery_.aborts_here(count)) return false;
    count.disabled = "it went wrong";
    return true;
  };
  if (aborts()) return false;
  if (crash_recovery_.is_copy_due(ticks_)) {
    if (crash_recovery_.make_copy(ticks_, replayer_->space())) start_clock();
    // A copy may have come here to give it up.
    if (aborts()) return false;
  }
  return true;
}

// Calls debug code. False if it had to be aborted: see DebugSession::last_abort.
bool RegionRunner::call(DebugFunction function, void* argument, int error) {
  CurrentRun& run = DebugSession::run;
  AbortPoint abort_point;
  if (__builtin_setjmp(abort_point.jump_buffer) == 0) {
    run.abort_point = &abort_point;
    ++run.number;
    errno = error;
    try {
      function(argument);
    } catch (...) {
      abort_point.taken = true;
      session_.last_abort.stack = stack_of_throw();
      session_.last_abort.set_reason(describe_exception("an exception left debug code"));
    }
  } else {
    // Out of a signal handler, perhaps.
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  run.abort_point = nullptr;
  return !abort_point.taken;
}

// From here on debug code's libc may be broken, and this process may not live to tell why.
void RegionRunner::begin_giving_up() {
  crash_recovery_.say_why(session_.last_abort.reason);
  ticks_in_run_ = 0;
  reports_abort_ = true;
}

// What is to be said after debug code has run, besides what it has written itself.
void RegionRunner::report(RegionCount& count, bool completed) {
  if (!completed && options_.retry) fmt::print("<{}>\n", session_.last_abort.reason);
  if (output_.is_captured()) output_.show_lines(*replayer_, count);
  if (guard_.stray()) report_stray(count);
  if (!completed && !options_.retry) report_abort(count);
  reports_abort_ = false;
}

void RegionRunner::report_stray(const RegionCount& count) {
  const WriteGuard::Stray& stray = *guard_.stray();
  const guest::Mapping* mapping = replayer_->space().find(stray.address);
  const char* then =
      guard_.how() == Protect::fatal ? "the replay ends here (--protect=fatal)" : "it was undone";
  std::fflush(stdout);
  crash_recovery_.mute(false);
  print_error("rdb: {}: debug code wrote to the program's memory at {:#x}{}{}; {}\n{}", count.place,
              stray.address, mapping == nullptr || mapping->name.empty() ? "" : " of " + mapping->name,
              guard_.noted() > 1 ? fmt::format(", and to {} other pages", guard_.noted() - 1) : "", then,
              replay::describe(backtrace_of(stray.stack)));
  if (guard_.how() != Protect::fatal) return;
  crash_recovery_.leave();
  std::fflush(nullptr);
  _exit(kExitFailure);
}

void RegionRunner::report_abort(RegionCount& count) {
  const LastAbort& left = session_.last_abort;
  count.disabled = left.reason;
  std::fflush(stdout);
  crash_recovery_.mute(false); // this must be seen
  print_error("rdb: {}: {}; this {} is not run any more\n{}", count.place, left.reason,
              count.callback != 0 ? "callback" : "region",
              left.stack.registers.rip == 0 ? "" : replay::describe(backtrace_of(left.stack)));
  // What debug code was in the middle of may be broken, in this process.
  crash_recovery_.go_back();
}

bool RegionRunner::host_fault(int signal, siginfo_t* info, void* context) {
  auto crashed = [&] {
    abort_debug_code_at(context, "debug code crashed with signal {} ({}, address {})", signal,
                        strsignal(signal), info->si_addr);
  };
  if (session_.loading != nullptr) crashed();
  if (!can_abort_debug_code()) return false;
  constexpr greg_t kWrite = 2; // in the error code of a page fault
  if (signal == SIGSEGV && static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite &&
      nested_->notice_write(reinterpret_cast<uint64_t>(info->si_addr), context))
    return true;
  // Guest code that runs in a nested call is the engine's to explain.
  if (nested_->handle_signal(signal, info, context)) return true;
  if (nested_->redirect(signal, info, context)) return true;
  auto* gregs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto address = reinterpret_cast<uint64_t>(info->si_addr);
  auto sp = static_cast<uint64_t>(gregs[REG_RSP]);
  constexpr uint64_t kNear = 1u << 16;
  if (signal == SIGSEGV && address < sp + kNear && address + kNear > sp)
    abort_debug_code("debug code overflowed its stack", context);
  crashed();
  return true;
}

// Only the module's code can be left in the middle while the guest's vector registers are in place.
bool RegionRunner::must_not_be_left(void* context) const {
  auto pc = static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  return replayer_->translator().in_fast_hook() && !session_.modules.contains(pc);
}

void RegionRunner::aborted(void* context) {
  if (can_abort_debug_code()) abort_debug_code("debug code was ended by its libc (abort)", context);
  signal(SIGABRT, SIG_DFL);
  raise(SIGABRT);
}

void RegionRunner::tick(void* context) {
  ticks_ = ticks_ + 1;
  if (reports_abort_ && ++ticks_in_run_ > kPatience)
    _exit(kExitFailure); // lost in what debug code has broken
  auto allowed = static_cast<uint64_t>(options_.timeout * 1e6 / kTick);
  if (session_.loading != nullptr && ++ticks_in_run_ >= allowed)
    abort_debug_code_at(context, "debug code did not end within {} s (--region-timeout)", options_.timeout);
  if (!can_abort_debug_code()) return;
  if (ticked_run_ != DebugSession::run.number) {
    ticked_run_ = DebugSession::run.number;
    ticks_in_run_ = 0;
    return;
  }
  if (++ticks_in_run_ < allowed || must_not_be_left(context)) return;
  if (nested_->interrupt(context)) return;
  auto pc = static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  if (!session_.modules.contains(pc) && ticks_in_run_ < allowed + kPatience) return;
  abort_debug_code_at(context, "debug code did not end within {} s (--region-timeout)", options_.timeout);
}

} // namespace rdb::debug
