// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Command lines that end in a guest's: `rdb run [options] [--] PROGRAM [ARGS...]`. rdb's own options stand
// before the program; from PROGRAM on every word is the guest's, `--help` and `--` included.
//
//   Action setup_run(CommandOptions& command) {
//     take_guest_command(command);
//     ...
//     return [&command] { return run_guest(guest_command(command)); };
//   }
#pragma once

#include "rdbtool/cli/options.h"

#include <string>
#include <vector>

namespace rdb::cli {

struct GuestCommand {
  std::string path;              // the file to run
  std::vector<std::string> argv; // as the guest gets them: argv[0] is the program as it was typed
};

// Called while the options of `command` are declared. It must have no positional arguments of its own.
void take_guest_command(CommandOptions& command);

// What was given, for the action. Throws UserError if there is no program or it cannot be run.
GuestCommand guest_command(const CommandOptions& command);

// The file that a shell would run for `name`: looked up in PATH unless it contains a slash.
// Throws UserError if there is none, or it is a directory, or not executable.
std::string find_program(const std::string& name);

} // namespace rdb::cli
