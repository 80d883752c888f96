// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb replay: plays a trace again.
#include "rdbtool/base/error.h"
#include "rdbtool/base/path.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/cli/bundles.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/replay_each_program.h"
#include "rdbtool/cli/terminal.h"
#include "rdbtool/cli/trace_text.h"
#include "rdbtool/debug/events/event_api.h"
#include "rdbtool/debug/events/event_lines.h"
#include "rdbtool/debug/regions/regions.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/replay/backtrace.h"
#include "rdbtool/replay/confinement.h"
#include "rdbtool/replay/divergence.h"
#include "rdbtool/replay/replayer.h"
#include "rdbtool/trace/damage.h"
#include "rdbtool/trace/programs.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/ranges.h>
#include <immintrin.h>
#include <unistd.h>

namespace rdb::cli {
namespace {

struct ReplayOptions {
  std::string trace;
  std::string process;
  uint64_t to = UINT64_MAX;
  bool quiet = false;
  bool stats = false;
  bool no_module = false;
  bool no_report = false;
  bool no_status = false;
  std::vector<std::string> modules;
  debug::RegionOptions regions;
  debug::RunnerOptions runner;
  debug::TwinOptions twins;
  std::string twin_use = "never";
  debug::TraceOptions events;
  std::string syscalls; // "true", or names
  std::string protect;  // "true", or how
};

// The replay itself went well, but the user has not seen all of it. Where nobody listens any more, nobody
// misses anything. Who has closed the stream has done so on purpose, and gets the program's status.
void check_output(int error, std::string_view what) {
  if (error == EBADF) print_error("rdb: {} is not shown: standard output is closed\n", what);
  if (error != 0 && error != EPIPE && error != EBADF)
    throw std::runtime_error(fmt::format("{} was lost in part: {}", what, std::strerror(error)));
}

// Plays up to `to`, and tells people at a terminal how far it is once it has taken a while.
std::optional<guest::Ending> run_with_progress(replay::Replayer& replayer, uint64_t to, uint64_t all,
                                               Terminal& terminal) {
  constexpr uint64_t kBetween = 100'000'000; // instructions
  constexpr auto kPatience = std::chrono::seconds(2);
  constexpr auto kEvery = std::chrono::milliseconds(500);
  auto next = std::chrono::steady_clock::now() + kPatience;
  std::optional<guest::Ending> ending;
  for (;;) {
    uint64_t goal = replayer.now().value + std::min(kBetween, to - replayer.now().value);
    ending = replayer.run(Time(goal));
    if (ending || replayer.now().value < goal || goal == to) break;
    if (std::chrono::steady_clock::now() < next) continue;
    terminal.show_progress(goal, all);
    next = std::chrono::steady_clock::now() + kEvery;
  }
  terminal.clear_progress();
  return ending;
}

// How long a tick of the CPU's clock takes, measured over the replay.
class TickRate {
public:
  double ns_per_tick() const {
    uint64_t ticks = __rdtsc() - ticks_;
    auto time = std::chrono::steady_clock::now() - time_;
    return ticks == 0 ? 0 : static_cast<double>(time.count()) / static_cast<double>(ticks);
  }

private:
  std::chrono::steady_clock::time_point time_ = std::chrono::steady_clock::now();
  uint64_t ticks_ = __rdtsc();
};

void print_stats(const debug::Regions& regions, double ns_per_tick) {
  print_error("{:<32} {:>10} {:>10} {:>10} {:>12}\n", "region", "hits", "skipped", "lines", "ns a hit");
  for (const debug::RegionCount& count : regions.counts())
    print_error(
        "{:<32} {:>10} {:>10} {:>10} {:>12.0f}\n", count.place, count.hits, count.skipped, count.lines,
        count.hits ? static_cast<double>(count.ticks) * ns_per_tick / static_cast<double>(count.hits) : 0.0);
}

// Whether the program has printed anything, as far as a look at the beginning of its log shows.
bool has_output(const trace::TraceReader& trace, const trace::ProcessInfo& program) {
  constexpr int kFar = 200'000;
  trace::InputReader inputs = trace.inputs(program);
  for (int i = 0; i < kFar; ++i) {
    const trace::Input* input = inputs.next();
    if (input == nullptr) return false;
    if (input->kind() == trace::InputKind::output) return true;
    if (input->kind() != trace::InputKind::syscall) continue;
    const auto& call = input->as<trace::SyscallInput>();
    if (call.output != trace::OutputStream::none && call.result > 0) return true;
  }
  return false;
}

// For the user of a wrapper: how to see what others have printed for it.
std::string children_with_output(const trace::TraceReader& trace) {
  constexpr size_t kNamed = 3;
  std::vector<const trace::ProcessInfo*> own = first_process(trace);
  std::vector<std::string> found;
  for (const trace::ProcessInfo& program : trace.processes()) {
    if (std::ranges::find(own, program.name, &trace::ProcessInfo::name) != own.end()) continue;
    if (!has_output(trace, program)) continue;
    if (found.size() == kNamed) {
      found.emplace_back("... ('rdb ps' lists them)");
      break;
    }
    found.push_back(fmt::format("'rdb replay -p {}' shows {}", program.name,
                                shell_text(std::string(base_name(program.program)))));
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

// True if there are any.
bool add_bundles(debug::Regions& regions, const ReplayOptions& options, const trace::TraceReader& trace,
                 const trace::ProcessInfo& program) {
  // As the user named it, if it is the user's.
  const std::string& path =
      program.origin == trace::ProcessOrigin::spawned ? trace.metadata().program : program.program;
  Bundles bundles = choose_bundles(options.modules, options.no_module ? "" : path, trace);
  for (auto& bundle : bundles)
    regions.add(std::move(bundle));
  return !bundles.empty();
}

// What has been shown when debug code fails is not shown again by the checkpoint that takes over.
void prepare_fallback(debug::RegionRunner& runner, const Terminal& terminal, replay::Replayer& replayer,
                      bool has_bundle) {
  debug::CrashRecovery& recovery = runner.crash_recovery();
  for (int fd : {runner.output().is_captured() ? -1 : 1, 2, terminal.output_fd(), terminal.event_fd(),
                 runner.output().terminal()})
    if (fd >= 0) recovery.add_output(fd);
  if (has_bundle) recovery.use();
  // What is said of the process's ancestors is theirs.
  if (replayer.when_own_log_begins([&recovery] { recovery.mute(false); })) recovery.mute(true);
}

// What the user has asked for and has not got.
Complaints complaints_of(debug::Regions& regions, const debug::Events& events) {
  Complaints complaints;
  for (const std::string& why : regions.unused())
    complaints.push_back({why, true});
  regions.unload();
  for (const std::string& name : events.unmatched())
    complaints.push_back({fmt::format("nothing in the recording is called {}", name)});
  for (const std::string& remark : events.ambiguous())
    complaints.push_back({remark});
  return complaints;
}

void report_death(replay::Replayer& replayer, const guest::Ending& ending,
                  const replay::Backtracer::LineMap& lines, const trace::ProcessInfo& program) {
  if (replayer.space().mappings().empty()) {
    print_error("rdb: the program could not be loaded: {} before its first instruction\n",
                guest::describe(ending));
    return;
  }
  replay::Backtracer backtracer(replayer);
  backtracer.set_line_map(lines);
  print_error("rdb: the program died of {} at time {}, thread {}\n{}", guest::describe(ending),
              replayer.now().value, replayer.thread().value, replay::describe(backtracer.frames(64)));
  bool is_first = &program == &trace::program_named(replayer.trace(), "");
  print_error("rdb: 'rdb gdb{0}' looks around there and goes back, 'rdb replay{0} --to TIME' stops earlier; "
              "debug regions in its source run on the next replay\n",
              is_first ? "" : fmt::format(" -p {}", program.name));
}

// The replay has come to the time that the user asked for, or to the end of a log that does not say how the
// program ended. Says which; the exit status.
int finish_early(const ReplayOptions& options, replay::Replayer& replayer,
                 const trace::ProcessInfo& program) {
  const trace::LogEnd& log_end = replayer.log_end();
  if (replayer.now().value >= options.to) {
    print_error("rdb: stopped at time {}, pc {:#x}\n", replayer.now().value, replayer.registers().rip);
    return 0;
  }
  bool killed = trace::was_killed(replayer.trace(), program, log_end);
  if (killed && log_end.kind == trace::LogEnd::Kind::closed) {
    print_error(
        "rdb: the program was killed by SIGKILL after time {}; what it did since its last system call is "
        "not recorded\n",
        replayer.now().value);
    if (options.no_status) return 0;
    guest::end_as({guest::Ending::Kind::signalled, SIGKILL});
  }
  std::string why = log_end.describe();
  // The time is said already.
  if (log_end.kind == trace::LogEnd::Kind::closed) why.erase(0, why.find(": ") + 2);
  print_error("rdb: the recording ends at time {}: {}\n", replayer.now().value, why);
  if (trace::is_damaged(replayer.trace(), log_end)) return kExitUsage;
  if (killed && !options.no_status) guest::end_as({guest::Ending::Kind::signalled, SIGKILL});
  return 0;
}

int play(const ReplayOptions& options, const trace::TraceReader& trace, const trace::ProcessInfo& program,
         const Complain& complain) {
  Terminal terminal;
  auto session = std::make_unique<debug::DebugSession>();
  debug::RegionRunner runner(*session, options.runner);
  debug::Regions regions(options.regions, runner, options.twins);
  bool has_bundle = add_bundles(regions, options, trace, program);
  replay::Replayer replayer(trace, program, options.quiet ? nullptr : &terminal);
  regions.check_selection();
  if (has_bundle) replayer.add_observer(regions);
  debug::Events events(*session);
  std::optional<debug::EventTrace> event_trace;
  auto lines = [&regions](const std::string& file, unsigned line) { return regions.edited_line(file, line); };
  debug::EventApi event_api(*session, events, regions, runner, replayer, lines);
  bool traces_events = options.events.any();
  if (traces_events) event_trace.emplace(options.events, events, replayer, lines, terminal.event_fd());
  if (traces_events || has_bundle) {
    replayer.add_observer(events);
    prepare_fallback(runner, terminal, replayer, has_bundle);
  }
  // Why it ends there is for the user, whatever the way.
  std::unique_ptr<debug::CrashRecovery, void (*)(debug::CrashRecovery*)> unmute(
      &runner.crash_recovery(), [](debug::CrashRecovery* muted) { muted->mute(false); });
  // Debug code is the user's own, and may do what it likes.
  if (!has_bundle) replay::confine({.hardware_breakpoints = traces_events});
  TickRate tick_rate;
  // Debug output would run into the line.
  bool progress = isatty(2) && !has_bundle && !traces_events;
  std::optional<guest::Ending> ending;
  try {
    ending = progress ? run_with_progress(replayer, options.to, last_time_of(trace, program).value, terminal)
                      : replayer.run(Time(options.to));
  } catch (const replay::Divergence& difference) {
    replay::report_divergence(replayer, difference);
  }
  unmute.reset();

  Complaints complaints = complaints_of(regions, events);
  if (ending && options.process.empty() && !options.quiet && !terminal.has_shown())
    if (std::string where = children_with_output(trace); !where.empty())
      complaints.push_back({"it has printed nothing itself; its children have: " + where});
  complain(complaints);
  regions.twins().report();
  if (options.stats) print_stats(regions, tick_rate.ns_per_tick());
  if (ending && ending->kind == guest::Ending::Kind::signalled && !options.no_report)
    report_death(replayer, *ending, lines, program);
  const trace::ProcessInfo* next = next_program(trace, program);
  if (ending && next != nullptr && !options.process.empty())
    print_error("rdb: at time {} it became another program by execve: 'rdb replay -p {}'\n",
                replayer.now().value, next->name);
  check_output(terminal.lost_output(), "the program's output");
  check_output(runner.output().lost(), "debug output");
  if (ending && options.no_status) return 0;
  if (ending) guest::end_as(*ending);
  return finish_early(options, replayer, program);
}

int run_replay(const ReplayOptions& options) {
  trace::TraceReader trace(options.trace);
  trace::check_cpu(trace.metadata().cpu, trace::CpuInfo::of_this_machine(), trace.path());
  std::vector<const trace::ProcessInfo*> programs = first_process(trace);
  // A time is one of a certain program.
  bool timed = options.to != UINT64_MAX || options.regions.from != 0 || options.regions.to != UINT64_MAX;
  if (!options.process.empty() || timed || programs.size() == 1)
    return play(options, trace, program_named(trace, options.process), say_all);
  play_in_turn(programs.size(), [&](size_t number, const Complain& complain) {
    trace::TraceReader own(trace.path()); // with files of its own
    ReplayOptions each = options;
    each.runner.append = number > 0;
    return play(each, own, program_named(own, programs[number]->name), complain);
  });
}

} // namespace

Action setup_replay(CommandOptions& command) {
  auto options = std::make_shared<ReplayOptions>();
  command.trace(options->trace);
  command.option(
      "-p,--process", options->process,
      "Which program, as rdb ps names it (if not given: the first process, program after program)");
  command.option("--to", options->to, "Stop at this time (guest instructions since the start)")
      .not_negative();
  command.flag("-q,--quiet", options->quiet, "Do not show what the program wrote");
  command.bundles(options->modules);
  command.no_bundles(options->no_module);
  command.flag("--no-report", options->no_report,
               "Do not say how a program died, nor that a region could not run for want of a value");
  command.flag("--no-status", options->no_status,
               "End with 0 however the program ended, unless rdb could not do what was asked for");
  command.flag("--prefix", options->runner.prefix,
               "Put time, thread and file:line before each line of debug output");
  command.option("--debug-output", options->runner.output, "Write debug output to this file").not_empty();
  command
      .option("--only", options->regions.only,
              "Run only the region at this line, as in file.c:LINE, or those of this file")
      .not_empty();
  command.option("--from", options->regions.from, "Run regions from this time on").not_negative();
  command.option("--until", options->regions.to, "Run regions up to this time").not_negative();
  command.option("--max-hits", options->regions.max_hits, "Run each region at most this often")
      .not_negative();
  // A flag, so that the trace's name after it is not taken for its value.
  command.flag("--trace-syscalls", options->syscalls,
               "Show every system call, or those named: --trace-syscalls=write,read");
  command.option("--trace-calls", options->events.calls,
                 "Show calls of the functions whose name matches this pattern, and what they return");
  command.option("--watch", options->events.watches,
                 "Show every write to a variable (NAME, file.c:NAME) or to ADDRESS[,SIZE]");
  command
      .option(
          "--twin", options->twin_use,
          "Which regions run in a twin of their function, its source run again beside it: auto, those that "
          "cannot run in place with all their variables; always; never, if it is not given")
      .one_of({"auto", "always", "never"});
  command
      .option("--twin-limit", options->twins.limit,
              "The most instructions that a call may take which is run in a twin (200000000)")
      .not_negative();
  command.flag("--protect", options->protect,
               "Say when debug code writes to the program's memory, which is undone (slow); "
               "--protect=fatal ends the replay there");
  command
      .option("--region-timeout", options->runner.timeout,
              "Seconds after which a region that does not end is given up (10; 0: never)")
      .not_negative();
  command.flag("--retry-regions", options->runner.retry,
               "Run a region again that crashed; its output says that it did");
  command.flag("--stats", options->stats, "Print hits and time of each region at the end");
  return [options] {
    options->runner.timed = options->stats;
    options->twins.use = options->twin_use == "always"  ? debug::TwinUse::always
                         : options->twin_use == "never" ? debug::TwinUse::never
                                                        : debug::TwinUse::automatic;
    options->twins.reports = !options->no_report;
    options->regions.report_skipped = !options->no_report;
    if (!options->protect.empty()) options->runner.protect = debug::protect_named(options->protect);
    if (!options->syscalls.empty())
      options->events.syscalls = options->syscalls == "true" ? "" : options->syscalls;
    return run_replay(*options);
  };
}

} // namespace rdb::cli
