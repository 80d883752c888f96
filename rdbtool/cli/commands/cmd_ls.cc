// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb ls: the recordings there are, oldest first, as a table.
#include "rdbtool/base/error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/trace_text.h"
#include "rdbtool/trace/trace_dir.h"
#include "rdbtool/trace/trace_files.h"

#include <array>
#include <cstdio>

namespace rdb::cli {
namespace {

using Row = std::array<std::string, 6>;

Row row_of(const std::string& name) {
  std::string path = trace::trace_root() + "/" + name;
  // What a command line takes: a name that it does not is shown as a path, in quotes.
  std::string shown = trace::is_trace_name(name) ? name : shell_text(path);
  std::string size = bytes_text(trace::directory_size(path));
  try {
    trace::TraceReader trace(path);
    const trace::Metadata& metadata = trace.metadata();
    return {shown,
            shell_text(metadata.program),
            moment_text(metadata.started_unix_ns),
            count_text(length_of(trace)),
            size,
            state_text(trace)};
  } catch (const UserError&) {
    // One bad trace must not hide the others; rdb info says what is wrong with it.
    return {shown, "?", "?", "?", size, "damaged"};
  }
}

int list() {
  std::vector<std::string> names = trace::list_traces();
  if (names.empty()) {
    fmt::print("no recordings in {}\n", visible_text(trace::trace_root()));
    return 0;
  }
  std::vector<Row> rows = {{"NAME", "PROGRAM", "WHEN", "LENGTH", "SIZE", "ENDED"}};
  for (const std::string& name : names)
    rows.push_back(row_of(name));
  std::array<size_t, 6> widths = {};
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const Row& row : rows) {
    // Amounts to the right, words to the left.
    std::string line =
        fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}  {}", row[0], widths[0], row[1], widths[1],
                    row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5]);
    fmt::print("{}\n", line);
  }
  return 0;
}

} // namespace

Action setup_ls(CommandOptions& command) {
  command.footer(
      "Length counts the instructions of the first process. Recordings are in $RDB_TRACE_DIR, else in\n"
      "$XDG_DATA_HOME/rdb, else in ~/.local/share/rdb.");
  return list;
}

} // namespace rdb::cli
