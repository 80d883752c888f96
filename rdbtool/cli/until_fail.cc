// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/until_fail.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/trace/trace_dir.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// "90", "90s", "5m", "2h" in seconds.
double parse_time(const std::string& text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc{} || scale == 0 || !std::isfinite(value) || value <= 0)
    user_error("record: --for {}: a time such as 30, 30s, 5m or 2h is expected", text);
  return value * scale;
}

// How the shell ended, as waitpid tells it; -1 if it could not be started.
int run_in_shell(const std::string& command) {
  const char* argv[] = {"sh", "-c", command.c_str(), nullptr};
  pid_t child;
  if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char**>(argv), environ) != 0) return -1;
  int status = -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

bool detected(const std::string& command, const record::SessionResult& result) {
  setenv("RDB_TRACE", trace::as_path(result.trace).c_str(), 1);
  int status =
      result.ending.kind == guest::Ending::Kind::signalled ? 128 + result.ending.value : result.ending.value;
  setenv("RDB_STATUS", std::to_string(status).c_str(), 1);
  int answer = run_in_shell(command);
  // What a shell answers for a command that is not there or is no program.
  bool ran = answer != -1 && WIFEXITED(answer) && WEXITSTATUS(answer) != 127 && WEXITSTATUS(answer) != 126;
  if (ran) return WEXITSTATUS(answer) == 0;
  trace::remove_trace(result.trace);
  user_error("record: --detect {}: the command cannot be run", command);
}

bool failed(const record::SessionResult& result) {
  return result.ending.kind == guest::Ending::Kind::signalled || result.ending.value != 0;
}

// What the search has come to.
class Search {
public:
  Search(uint64_t most, double allowed) : most_(most), allowed_(allowed) {}

  void begin_run() { run_ = Clock::now(); }
  void end_run() {
    ++runs_;
    longest_ = std::max(longest_, seconds_since(run_));
  }
  uint64_t runs() const { return runs_; } // that have ended
  double seconds() const { return seconds_since(start_); }
  bool is_over() const { return (most_ != 0 && runs_ >= most_) || (allowed_ > 0 && seconds() >= allowed_); }
  std::optional<Clock::time_point> deadline() const {
    constexpr double kForEver = 1e8; // seconds: more than a clock's counter has room for
    if (allowed_ <= 0 || allowed_ > kForEver) return std::nullopt;
    return start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(allowed_));
  }
  // The run takes so much longer than all before it that it will hardly end.
  bool hangs() const {
    double lasted = seconds_since(run_);
    return lasted > 1 && lasted > 2 * longest_;
  }
  double run_seconds() const { return seconds_since(run_); }

  std::string text() const {
    if (runs_ == 0) return fmt::format("the first run, {:.0f} s so far", seconds());
    double rate = static_cast<double>(runs_) / seconds();
    std::string pace =
        rate >= 1 ? fmt::format("{:.1f} per second", rate) : fmt::format("{:.1f} per minute", 60 * rate);
    std::optional<double> left;
    if (allowed_ > 0) left = allowed_ - seconds();
    if (most_ != 0) left = std::min(left.value_or(HUGE_VAL), static_cast<double>(most_ - runs_) / rate);
    return fmt::format("{} run{}, {}{}", runs_, runs_ == 1 ? "" : "s", pace,
                       left ? fmt::format(", about {:.0f} s left", std::max(*left, 0.0)) : "");
  }

private:
  uint64_t most_;
  double allowed_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point run_ = start_;
  uint64_t runs_ = 0;
  double longest_ = 0;
};

// One line that is written again and again on a terminal.
class Progress {
public:
  explicit Progress(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO)) {}
  void show(const std::string& text) {
    if (!shown_ || seconds_since(last_) < 0.1) return;
    last_ = Clock::now();
    print_error("\r\033[Krdb: {} ", text);
  }
  void clear() const {
    if (shown_) print_error("\r\033[K");
  }

private:
  bool shown_;
  Clock::time_point last_;
};

} // namespace

void take_until_fail(CommandOptions& command, UntilFail& options) {
  Option wanted =
      command.flag("--until-fail", options.wanted,
                   "Record in chaos again and again with other seeds; keep the first run that fails");
  command.option("-n", options.runs, "With --until-fail: at most so many runs")
      .needs(wanted)
      .between(1, INT64_MAX);
  command.option("--for", options.time, "With --until-fail: at most so long (30s, 5m, 2h)").needs(wanted);
  command
      .option("--detect", options.detect,
              "With --until-fail: a shell command that succeeds for a run that failed; it gets RDB_TRACE and "
              "RDB_STATUS")
      .needs(wanted);
}

std::optional<record::SessionResult> record_until_fail(record::SessionOptions session,
                                                       const UntilFail& options, bool quiet) {
  Search search(options.runs, options.time.empty() ? 0 : parse_time(options.time));
  Progress progress(quiet);
  auto say = [&](const std::string& text) {
    progress.clear();
    if (!quiet) print_error("rdb: {}\n", text);
  };
  guest::MachineOptions& machine = session.process.machine;
  machine.turns.chaos = true;
  session.deadline = search.deadline();
  session.meanwhile = [&] {
    // A program that is soon over has the terminal to itself.
    if (search.run_seconds() > 1) progress.show(search.text());
  };
  for (;;) {
    search.begin_run();
    record::SessionResult result = record::record(session);
    if (result.too_late || result.told_to_end != 0) {
      std::string why =
          result.too_late
              ? "the time is over"
              : "stopped by " + guest::describe({guest::Ending::Kind::signalled, result.told_to_end});
      std::string before =
          fmt::format("{}; none of {} runs failed in {:.1f} s", why, search.runs(), search.seconds());
      if (search.hangs()) {
        say(fmt::format("{}, and the next went on for {:.1f} s: it is kept (seed {})", before,
                        search.run_seconds(), machine.turns.seed));
        return result;
      }
      if (!result.trace.empty()) trace::remove_trace(result.trace);
      say(before);
      if (!result.too_late) guest::end_as({guest::Ending::Kind::signalled, result.told_to_end});
      return std::nullopt;
    }
    if (result.trace.empty()) return result; // it could not be started
    search.end_run();
    bool recorded_whole = result.complete || result.ending.kind == guest::Ending::Kind::signalled;
    if (!recorded_whole) {
      say(fmt::format("run {} could not be recorded to its end (seed {})", search.runs(),
                      machine.turns.seed));
      return result;
    }
    if (options.detect.empty() ? failed(result) : detected(options.detect, result)) {
      say(fmt::format("run {} failed after {:.1f} s (seed {})", search.runs(), search.seconds(),
                      machine.turns.seed));
      return result;
    }
    trace::remove_trace(result.trace);
    progress.show(search.text());
    if (search.is_over()) break;
    ++machine.turns.seed;
    machine.seed = machine.randomise ? machine.turns.seed : machine.seed;
  }
  say(fmt::format("none of {} runs failed in {:.1f} s", search.runs(), search.seconds()));
  return std::nullopt;
}

} // namespace rdb::cli
