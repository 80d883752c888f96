// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb history: the values that an expression had each time a line was reached.
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/gdb_process.h"

namespace rdb::cli {
namespace {

struct HistoryOptions {
  std::string expression;
  std::string trace;
  std::string at;
  bool changes = false;
  std::string process;
};

} // namespace

Action setup_history(CLI::App& app) {
  auto options = std::make_shared<HistoryOptions>();
  app.add_option("EXPRESSION", options->expression, "In the program's language, as gdb's print takes it")
      ->required();
  app.add_option("TRACE", options->trace, "The recording: a directory, a name, or nothing for the latest");
  app.add_option("--at", options->at, "The place: file.c:LINE, or a function")->required();
  app.add_flag("--changes", options->changes, "Print a value only where it differs from the one before");
  app.add_option(
      "-p,--process", options->process,
      "Of this program of the recording, as rdb ps names it, instead of the last one of the first process");
  app.footer("  rdb history total --at sum.c:12\n  rdb history 'list->size' --at list.c:40 --changes");
  return [options] {
    return query_gdb(options->trace, options->process, "history",
                     {options->expression, options->at, options->changes ? "changes" : "all"});
  };
}

} // namespace rdb::cli
