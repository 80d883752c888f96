// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rdb program.
#include "rdbtool/cli/command_line.h"
#include "rdbtool/guest/handover.h"

#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], rdb::guest::kHandoverCommand) == 0)
    return rdb::cli::guarded([&] { return rdb::cli::continue_run(std::atoi(argv[2])); });
  return rdb::cli::run_command_line(rdb::cli::commands(), {argv + 1, argv + argc});
}
