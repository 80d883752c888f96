// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rdb program.
#include "rdbtool/base/log.h"
#include "rdbtool/cli/command_line.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/host/own_limits.h"
#include "rdbtool/guest/memory/host_place.h"
#include "rdbtool/guest/process/handover.h"

#include <cstdlib>
#include <cstring>

namespace {
// The loader calls this before the constructors of all libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*lift_limits)() = rdb::guest::lift_own_limits;
} // namespace

int main(int argc, char** argv) {
  if (int status = rdb::cli::guarded([] {
        rdb::start_log();
        return 0;
      }))
    return status;
  rdb::guest::settle_host_place(argv);
  if (argc == 3 && std::strcmp(argv[1], rdb::guest::kHandoverCommand) == 0)
    return rdb::cli::guarded(
        [&] { return rdb::cli::continue_run(static_cast<int>(std::strtol(argv[2], nullptr, 10))); });
  rdb::guest::occupy_closed_streams();
  return rdb::cli::run_command_line(rdb::cli::commands(), {argv + 1, argv + argc});
}
