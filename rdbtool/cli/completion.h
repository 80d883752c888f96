// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shell completion and manual pages, made from the table of commands and the options each declares: what the
// help says, they say.
#pragma once

#include "rdbtool/cli/command.h"

#include <string>

namespace rdb::cli {

std::string bash_completion(std::span<const Command> commands);
std::string zsh_completion(std::span<const Command> commands);

// The page rdb(1), or rdb-COMMAND(1), as roff.
std::string manual_overview(std::span<const Command> commands, const std::string& version);
std::string manual_page(const Command& command, const std::string& version);

} // namespace rdb::cli
