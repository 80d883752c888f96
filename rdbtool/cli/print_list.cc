// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/print_list.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/print/line_counter.h"
#include "rdbtool/replay/confinement.h"
#include "rdbtool/trace/damage.h"

#include <nlohmann/json.hpp>

namespace rdb::cli {
namespace {

std::string joined(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

void print_line(const std::string& file, unsigned number, const debug::LineCounter::CountedLine& line,
                debug::HitStyle style) {
  switch (style) {
  case debug::HitStyle::plain:
    fmt::print("{:>6} {:>12}  {}{}{}\n", number, line.reached, joined(line.available),
               line.unavailable.empty() ? ""
               : line.available.empty() ? "not: "
                                        : "; not: ",
               joined(line.unavailable));
    return;
  case debug::HitStyle::json: {
    nlohmann::ordered_json object{{"place", fmt::format("{}:{}", file, number)}, {"reached", line.reached}};
    object["available"] = line.available;
    object["unavailable"] = line.unavailable;
    fmt::print("{}\n", object.dump());
    return;
  }
  case debug::HitStyle::csv:
    fmt::print("{}:{},{},{},{}\n", file, number, line.reached, fmt::join(line.available, " "),
               fmt::join(line.unavailable, " "));
    return;
  }
}

} // namespace

int list_lines(const trace::TraceReader& trace, const trace::ProcessInfo& process,
               const debug::LineRange& range, debug::HitStyle style) {
  debug::LineCounter counter(range.file, range.first, range.last);
  replay::Replayer replayer(trace, process, nullptr);
  replayer.add_observer(counter);
  replay::confine({});
  bool ended = replayer.run(Time(UINT64_MAX)).has_value();
  bool damaged = !ended && trace::is_damaged(trace, replayer.log_end());
  if (damaged)
    print_error("rdb: the recording ends at time {}: {}\n", replayer.now().value,
                replayer.log_end().describe());
  if (counter.lines().empty())
    user_error("print: nothing that was recorded has debug information about {} between these lines; compile "
               "with -g for --list",
               range.file);
  if (style == debug::HitStyle::plain) fmt::print("{:>6} {:>12}  {}\n", "line", "reached", "variables");
  if (style == debug::HitStyle::csv) fmt::print("place,reached,available,unavailable\n");
  for (const auto& [number, line] : counter.lines())
    print_line(range.file, number, line, style);
  return damaged ? kExitUsage : 0;
}

} // namespace rdb::cli
