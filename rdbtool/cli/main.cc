// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rdb program.
#include "rdbtool/cli/command_line.h"

int main(int argc, char** argv) {
  return rdb::cli::run_command_line(rdb::cli::commands(), {argv + 1, argv + argc});
}
