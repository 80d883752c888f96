// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/until_fail.h"

#include "rdbtool/base/error.h"
#include "rdbtool/trace/trace_dir.h"

#include <cerrno>
#include <charconv>
#include <chrono>
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
  if (error != std::errc{} || scale == 0 || value <= 0)
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
  setenv("RDB_TRACE", result.trace.c_str(), 1);
  int status =
      result.ending.kind == guest::Ending::Kind::signalled ? 128 + result.ending.value : result.ending.value;
  setenv("RDB_STATUS", std::to_string(status).c_str(), 1);
  int answer = run_in_shell(command);
  if (answer == -1 || !WIFEXITED(answer) || WEXITSTATUS(answer) == 127)
    user_error("record: --detect {}: the command cannot be run", command);
  return WEXITSTATUS(answer) == 0;
}

bool failed(const record::SessionResult& result) {
  return result.ending.kind == guest::Ending::Kind::signalled || result.ending.value != 0;
}

// One line that is written again and again on a terminal.
class Progress {
public:
  explicit Progress(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO)) {}
  void show(uint64_t runs, double seconds, double allowed) const {
    if (!shown_) return;
    std::string left = allowed > 0 ? fmt::format(", {:.0f} s left", std::max(allowed - seconds, 0.0)) : "";
    fmt::print(stderr, "\rrdb: {} runs, {:.1f} per second{} ", runs, static_cast<double>(runs) / seconds,
               left);
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

private:
  bool shown_;
};

} // namespace

void take_until_fail(CLI::App& app, UntilFail& options) {
  auto* wanted =
      app.add_flag("--until-fail", options.wanted,
                   "Record in chaos again and again with other seeds; keep the first run that fails");
  app.add_option("-n", options.runs, "With --until-fail: at most so many runs")->needs(wanted);
  app.add_option("--for", options.time, "With --until-fail: at most so long (30s, 5m, 2h)")->needs(wanted);
  app.add_option(
         "--detect", options.detect,
         "With --until-fail: a shell command that succeeds for a run that failed; it gets RDB_TRACE and "
         "RDB_STATUS")
      ->needs(wanted);
}

std::optional<record::SessionResult> record_until_fail(record::SessionOptions session,
                                                       const UntilFail& options, bool quiet) {
  double allowed = options.time.empty() ? 0 : parse_time(options.time);
  Progress progress(quiet);
  Clock::time_point start = Clock::now();
  guest::MachineOptions& machine = session.process.machine;
  machine.turns.chaos = true;
  uint64_t runs = 0;
  for (;;) {
    record::SessionResult result = record::record(session);
    ++runs;
    bool keep =
        !result.complete || (options.detect.empty() ? failed(result) : detected(options.detect, result));
    if (keep) {
      progress.clear();
      if (!quiet)
        fmt::print(stderr, "rdb: run {} failed after {:.1f} s (seed {})\n", runs, seconds_since(start),
                   machine.turns.seed);
      return result;
    }
    trace::remove_trace(result.trace);
    double seconds = seconds_since(start);
    progress.show(runs, seconds, allowed);
    if ((options.runs != 0 && runs >= options.runs) || (allowed > 0 && seconds >= allowed)) break;
    ++machine.turns.seed;
    machine.seed = machine.randomise ? machine.turns.seed : machine.seed;
  }
  progress.clear();
  if (!quiet) fmt::print(stderr, "rdb: none of {} runs failed in {:.1f} s\n", runs, seconds_since(start));
  return std::nullopt;
}

} // namespace rdb::cli
