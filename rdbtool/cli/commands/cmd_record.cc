// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb record: runs a program and leaves a trace of it.
#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/guest_command.h"
#include "rdbtool/cli/schedule_options.h"
#include "rdbtool/cli/trace_text.h"

#include "rdbtool/cli/until_fail.h"
#include "rdbtool/guest/calls/refused_calls.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/record/session.h"
#include "rdbtool/trace/programs.h"
#include "rdbtool/trace/trace_dir.h"

#include <algorithm>
#include <cstdio>
#include <fmt/ranges.h>

extern char** environ;

namespace rdb::cli {
namespace {

constexpr uint64_t kChecksumInterval = 2'000'000;
constexpr int kTimeOver = 124; // as timeout(1) says it

struct RecordOptions {
  std::string directory;
  ScheduleChoice schedule;
  std::string checksum; // empty: none
  bool check_pages = false;
  bool quiet = false;
  bool verbose = false;
  UntilFail until_fail;
};

// Which processes were not recorded up to their end.
std::string cut_off(const trace::TraceReader& trace) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> names;
  for (const trace::ProcessInfo& program : trace.processes())
    if (trace::next_program(trace, program) == nullptr && !trace::exit_of(trace, program))
      names.push_back(program.name);
  if (names.empty()) return "";
  std::string more = names.size() > kNamed ? fmt::format(" and {} more", names.size() - kNamed) : "";
  bool one = names.size() == 1;
  names.resize(std::min(names.size(), kNamed));
  return fmt::format(" ({} {}{} cut off; 'rdb info' says why)", one ? "process" : "processes",
                     fmt::join(names, ", "), more + (one ? " was" : " were"));
}

int run_record(const record::SessionOptions& session, const UntilFail& until_fail, bool quiet) {
  record::SessionResult result;
  if (until_fail.wanted) {
    std::optional<record::SessionResult> failed = record_until_fail(session, until_fail, quiet);
    if (!failed) return 0;
    result = *failed;
  } else {
    result = record::record(session);
  }
  // Why it did not start has been said by who tried.
  if (result.trace.empty()) {
    if (result.disk_full) print_error("rdb: nothing was recorded: {}\n", visible_text(result.reason));
    if (result.too_late) return kTimeOver;
    guest::end_as(result.ending);
  }
  if (!quiet) {
    trace::TraceReader trace(trace::as_path(result.trace));
    size_t programs = trace.processes().size();
    print_error("rdb: recorded {} instructions{}, {}{}, {} in {} (it may hold secrets)\n", length_of(trace),
                programs > 1 ? fmt::format(" of {} programs", programs) : "",
                result.disk_full ? trace.metadata().end.summary() : guest::describe(result.ending),
                result.complete ? cut_off(trace) : "", bytes_text(trace::directory_size(result.trace)),
                visible_text(result.trace));
  }
  if (!result.complete) {
    print_error("rdb: the recording ended early: {}; what was recorded before can be replayed\n",
                visible_text(result.reason));
    if (result.too_late) return kTimeOver;
    if (result.ending.kind == guest::Ending::Kind::exited) return kExitFailure;
  }
  guest::end_as(result.ending);
}

// Instructions between hashes; 0: none.
uint64_t checksum_interval(const std::string& word) {
  if (word.empty()) return 0;
  if (word == "true") return kChecksumInterval; // without a word
  if (word == "calls") return 1;
  user_error("--checksum={}: expected calls, or nothing", word);
}

} // namespace

Action setup_record(CommandOptions& command) {
  auto options = std::make_shared<RecordOptions>();
  command.option("-o,--output", options->directory,
                 "Directory for the trace (a new one in the trace root if not given)");
  take_schedule(command, options->schedule);
  command.flag("--checksum", options->checksum,
               "Record hashes of the whole state at intervals, or with =calls at every system call (slow), "
               "checked on replay");
  command.flag("--check-pages", options->check_pages,
               "Stop if a system call changes memory that rdb does not expect it to change (slow)");
  command.flag("-q,--quiet", options->quiet, "Do not say at the end where the trace is");
  command.flag("-v,--verbose", options->verbose,
               "Tell of refused system calls that programs do well without, too");
  take_until_fail(command, options->until_fail);
  take_guest_command(command);
  return [options, &command] {
    GuestCommand program = guest_command(command);
    record::SessionOptions session;
    session.process.path = program.path;
    session.process.argv = program.argv;
    for (char** variable = environ; *variable != nullptr; ++variable)
      session.process.environment.emplace_back(*variable);
    apply_schedule(command, options->schedule, session.process.machine);
    session.directory = options->directory;
    session.checksum_interval = checksum_interval(options->checksum);
    session.check_pages = options->check_pages;
    guest::tell_harmless(options->verbose);
    return run_record(session, options->until_fail, options->quiet);
  };
}

} // namespace rdb::cli
