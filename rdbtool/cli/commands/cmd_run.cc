// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb run: a program under the engine, not recorded.
#include "rdbtool/base/error.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/guest_command.h"
#include "rdbtool/cli/schedule_options.h"
#include "rdbtool/guest/calls/live_executor.h"
#include "rdbtool/guest/calls/refused_calls.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/process/elf_image.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/guest/process/handover.h"
#include "rdbtool/guest/process/process.h"
#include "rdbtool/record/session.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <unistd.h>

extern char** environ;

namespace rdb::cli {
namespace {

struct RunOptions {
  bool stats = false;
  bool verbose = false;
  ScheduleChoice schedule;
  bool lockstep = false;
  bool one_thread = false;
  uint64_t copy_interval = 0;
  std::string engine = "fast";
  uint64_t max_instructions = UINT64_MAX;
};

void say(int fd, const std::string& text) {
  if (write(fd, text.data(), text.size()) < 0) return; // closed: nobody listens
}

void print_stats(int fd, guest::Machine& machine, double seconds) {
  const engine::Statistics& s = machine.engine().statistics();
  say(fd,
      fmt::format(
          "guest instructions: {}\nblocks: {}\nsuperblocks: {}\ntranslations: {}\ntime in engine: {:.1f} ms\n"
          "host entries: {}\nfast calls: {}\nindirect misses: {}\npeak cache: {} KiB\ntime: {:.3f} s\n",
          machine.engine().executed(), s.blocks, s.superblocks, s.translated,
          static_cast<double>(s.translate_ns) / 1e6, s.host_entries, s.fast_syscalls, s.indirect_misses,
          s.peak_cache_bytes >> 10, seconds));
}

constexpr const char* kWithStatistics = "statistics"; // Handover::listener_state

// Prints statistics of each program that a process is, one after the other.
class StatisticsPrinter final : public guest::ProcessListener {
public:
  explicit StatisticsPrinter(int fd) : fd_(fd) {}

  // Of the program that ends here, or stops.
  void print(guest::Machine& machine) const {
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
    print_stats(fd_, machine, time.count());
  }

  void on_end(guest::Machine& machine, const guest::Ending&) override { print(machine); }
  void before_exec(guest::Machine& machine, const guest::SystemCall&, guest::Handover& handover) override {
    print(machine);
    handover.listener_state = kWithStatistics;
  }

private:
  int fd_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int run_process(const guest::ProcessOptions& options, bool stats) try {
  int own_stderr = guest::own_error_stream();
  guest::release_occupied_streams();
  guest::LiveExecutor executor;
  guest::ProcessListener nobody;
  StatisticsPrinter statistics(own_stderr);
  guest::Process process(options, executor, stats ? statistics : nobody);
  guest::Ending ending = process.run();
  if (ending.kind == guest::Ending::Kind::stopped) {
    if (stats) statistics.print(process.machine());
    const engine::Registers& regs = process.machine().engine().registers();
    say(own_stderr, fmt::format("rdb: stopped after {} instructions at {:#x}\n",
                                process.machine().engine().executed(), regs.rip));
    return 0;
  }
  guest::end_as(ending);
} catch (const guest::KilledAtStart& death) {
  say(guest::own_error_stream(),
      fmt::format("rdb: {}: it is killed before its first instruction\n", death.what()));
  guest::end_as({guest::Ending::Kind::signalled, SIGSEGV});
}

} // namespace

Action setup_run(CommandOptions& command) {
  auto options = std::make_shared<RunOptions>();
  command.flag("--stats", options->stats,
               "Print instruction counts and engine statistics of each program at its end");
  take_schedule(command, options->schedule);
  Option one_thread =
      command.flag("--one-thread", options->one_thread,
                   "All threads of the program in one OS thread; the same --seed gives the same turns");
  command
      .option("--copies-every", options->copy_interval,
              "As a check: fork about every N instructions; each copy goes on to the end, which must be the "
              "same. For programs that only compute and print")
      .needs(one_thread);
  command
      .option(
          "--engine", options->engine,
          "fast; or as a check, step: one instruction at a time, blocks: no superblocks, eager: many of them")
      .one_of({"fast", "blocks", "step", "eager"});
  command.flag("--lockstep", options->lockstep, "Compare with one instruction at a time, all the way; slow");
  command.option("--max-instructions", options->max_instructions,
                 "Stop after exactly this many instructions");
  command.flag("-v,--verbose", options->verbose,
               "Tell of refused system calls that programs do well without, too");
  take_guest_command(command);
  return [options, &command] {
    GuestCommand program = guest_command(command);
    guest::ProcessOptions process;
    process.path = program.path;
    process.argv = program.argv;
    for (char** variable = environ; *variable != nullptr; ++variable)
      process.environment.emplace_back(*variable);
    apply_schedule(command, options->schedule, process.machine);
    process.machine.turns.one_thread = options->one_thread;
    process.machine.turns.copy_interval = options->copy_interval;
    process.machine.step_only = options->engine == "step";
    process.machine.lockstep = options->lockstep;
    process.machine.superblocks = options->engine == "fast" || options->engine == "eager";
    process.machine.eager = options->engine == "eager";
    process.max_instructions = options->max_instructions;
    guest::tell_harmless(options->verbose);
    return run_process(process, options->stats);
  };
}

// What execve of a guest starts; not a command for people.
int continue_run(int fd) {
  guest::Handover handover = guest::receive_handover(fd);
  guest::ProcessOptions options;
  options.machine = handover.machine;
  options.inherited = handover.inherited;
  options.path = handover.path;
  options.argv = handover.argv;
  options.environment = handover.environment;
  record::continue_if_recorded(handover, options);
  return run_process(options, handover.listener_state == kWithStatistics);
}

} // namespace rdb::cli
