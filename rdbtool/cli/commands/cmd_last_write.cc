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

Action setup_last_write(CommandOptions& command) {
  auto options = std::make_shared<LastWriteOptions>();
  command
      .option("EXPRESSION", options->expression,
              "A variable, a member ..., as gdb's print takes it; or an address, for the eight bytes there")
      .required();
  command.trace(options->trace);
  command.option("--at", options->at,
                 "Before this time, NN%, or the last time that file.c:LINE was reached (the end)");
  command.process(options->process);
  command.footer("  rdb last-write counter\n  rdb last-write 'node->next' --at list.c:40\n"
                 "  rdb last-write 0x7ffe1230 --at 1234567");
  return [options] {
    return query_gdb(options->trace, options->process, "last-write", {options->expression, options->at});
  };
}

} // namespace rdb::cli
