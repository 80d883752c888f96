// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb ps: the processes of a recording, in the order in which they started.
#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/trace_text.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/trace/damage.h"
#include "rdbtool/trace/programs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>

namespace rdb::cli {
namespace {

using Row = std::array<std::string, 5>;

// `damage`: in one line, if there is any.
std::string ending_of(const trace::TraceReader& trace, const trace::ProcessInfo& process,
                      std::string& damage) {
  if (trace::next_program(trace, process) != nullptr) return "exec";
  auto exit = trace::exit_of(trace, process);
  if (!exit) {
    damage = trace::find_damage(trace, process);
    if (!damage.empty()) return "damaged";
    return trace::met_full_disk(trace, process) ? "disk full" : "cut off";
  }
  using Kind = guest::Ending::Kind;
  return describe(guest::Ending{exit->by_signal ? Kind::signalled : Kind::exited, exit->status});
}

int list(const std::string& name) {
  trace::TraceReader trace(name);
  std::vector<Row> rows = {{"PID", "PPID", "LENGTH", "ENDED", "PROGRAM"}};
  bool damaged = false;
  for (const trace::ProcessInfo& process : trace.processes()) {
    std::string damage;
    std::string ending = ending_of(trace, process, damage);
    if (!damage.empty()) print_error("rdb: process {}: {}\n", process.name, damage);
    damaged |= !damage.empty();
    rows.push_back({process.name, std::to_string(process.parent_pid), count_text(length_of(trace, process)),
                    ending, shell_text(process.program)});
  }
  std::array<size_t, 5> widths = {};
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const Row& row : rows)
    fmt::print("{:<{}}  {:>{}}  {:>{}}  {:<{}}  {}\n", row[0], widths[0], row[1], widths[1], row[2],
               widths[2], row[3], widths[3], row[4]);
  return damaged ? kExitUsage : 0;
}

} // namespace

Action setup_ps(CommandOptions& command) {
  auto trace = std::make_shared<std::string>();
  command.trace(*trace);
  command.footer(
      "PID.2 is the second program of that process, by execve. 'rdb replay -p PID' plays one of them, "
      "'rdb replay' "
      "all of the first process.");
  return [trace] { return list(*trace); };
}

} // namespace rdb::cli
