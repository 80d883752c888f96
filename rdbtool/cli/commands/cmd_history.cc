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

Action setup_history(CommandOptions& command) {
  auto options = std::make_shared<HistoryOptions>();
  command.option("EXPRESSION", options->expression, "In the program's language, as gdb's print takes it")
      .required();
  command.trace(options->trace);
  command.option("--at", options->at, "The place: file.c:LINE, or a function").required();
  command.flag("--changes", options->changes, "Print a value only where it differs from the one before");
  command.process(options->process);
  command.footer("  rdb history total --at sum.c:12\n  rdb history 'list->size' --at list.c:40 --changes");
  return [options] {
    return query_gdb(options->trace, options->process, "history",
                     {options->expression, options->at, options->changes ? "changes" : "all"});
  };
}

} // namespace rdb::cli
