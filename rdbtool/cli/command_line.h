// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the words of a command line to an exit status. Takes the table of commands as an argument, so that
// tests can bring commands that fail in every way.
#pragma once

#include "rdbtool/cli/command.h"

#include <span>
#include <string>
#include <vector>

namespace rdb::cli {

// Runs what `args` (without the program's own name) asks for. Reports trouble on stderr, never throws.
int run_command_line(std::span<const Command> commands, const std::vector<std::string>& args);

// Runs `action`, with trouble reported in the same way.
int guarded(const std::function<int()>& action);

} // namespace rdb::cli
