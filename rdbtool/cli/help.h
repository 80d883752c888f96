// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The texts that `rdb help` prints: the overview from the table of commands, and one command in full.
#pragma once

#include "rdbtool/cli/command.h"

#include <string>

namespace rdb::cli {

// `rdb help`
std::string overview(std::span<const Command> commands);
// `rdb help COMMAND`, the same as `rdb COMMAND --help`
std::string command_help(const Command& command);

// The command that a mistyped name was probably meant to be; empty if none is near.
std::string nearest_command(std::span<const Command> commands, const std::string& name);

} // namespace rdb::cli
