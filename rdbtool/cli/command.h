// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One subcommand of rdb: its name, its line in the help, and how its options become an action.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>

namespace rdb::cli {

// Runs the command with the options parsed; returns rdb's exit status.
using Action = std::function<int()>;

struct Command {
  const char* name;
  const char* summary;
  // Declares the options on `app`. The action owns what they are parsed into.
  Action (*setup)(CLI::App& app);
};

// All commands, in the order in which the help lists them.
std::span<const Command> commands();

// One setup function per command, each in cmd_NAME.cc.

} // namespace rdb::cli
