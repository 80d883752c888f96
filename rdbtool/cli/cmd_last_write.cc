// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb last-write: which instruction wrote to a place in memory last, and when.
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/gdb_process.h"

namespace rdb::cli {
namespace {

struct LastWriteOptions {
  std::string expression;
  std::string trace;
  std::string at = "end";
  std::string process;
};

} // namespace

Action setup_last_write(CLI::App& app) {
  auto options = std::make_shared<LastWriteOptions>();
  app.add_option(
         "EXPRESSION", options->expression,
         "A variable, a member ..., as gdb's print takes it; or an address, for the eight bytes there")
      ->required();
  app.add_option("TRACE", options->trace, "The recording: a directory, a name, or nothing for the latest");
  app.add_option("--at", options->at,
                 "Before this time, NN%, or the last time that file.c:LINE was reached (the end)");
  app.add_option(
      "-p,--process", options->process,
      "Of this program of the recording, as rdb ps names it, instead of the last one of the first process");
  app.footer("  rdb last-write counter\n  rdb last-write 'node->next' --at list.c:40\n"
             "  rdb last-write 0x7ffe1230 --at 1234567");
  return [options] {
    return query_gdb(options->trace, options->process, "last-write", {options->expression, options->at});
  };
}

} // namespace rdb::cli
