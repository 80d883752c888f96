// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One command of rdb: its name, its line in the help, and how its options become an action.
//
// To add the command NAME:
//   1. cmd_NAME.cc (listed in CMakeLists.txt) defines `Action setup_NAME(CommandOptions& command)`: it
//   declares
//      the options on `command`, with a footer of examples if they help, and returns what to do once they are
//      parsed.
//      What the options are parsed into must live as long as the action: keep it in a shared_ptr the action
//      holds.
//   2. Below, declare setup_NAME; in commands.cc, add one line to the table.
//
//      Action setup_info(CommandOptions& command) {
//        auto trace = std::make_shared<std::string>();
//        command.trace(*trace);
//        return [trace] { return print_info(*trace); };
//      }
//
// Commands that start a program (`rdb run [options] [--] PROGRAM [ARGS...]`) use guest_command.h.
//
// The action returns rdb's exit status: the guest's own where there is a guest, else 0. Trouble is thrown
// (rdbtool/base/error.h) and becomes one line on stderr that begins "rdb:" and an exit status in one place,
// command_line.cc; no command prints its own.
#pragma once

#include "rdbtool/cli/options.h"

#include <functional>
#include <span>

namespace rdb::cli {

// Runs the command with the options parsed; returns rdb's exit status.
using Action = std::function<int()>;

struct Command {
  const char* name;
  const char* summary;
  // Declares the options on `command`, which outlives the action.
  Action (*setup)(CommandOptions& command);
};

// All commands, in the order in which the help lists them.
std::span<const Command> commands();

// One setup function per command, each in cmd_NAME.cc.
Action setup_gdb(CommandOptions& command);
Action setup_print(CommandOptions& command);
Action setup_history(CommandOptions& command);
Action setup_last_write(CommandOptions& command);
Action setup_record(CommandOptions& command);
Action setup_replay(CommandOptions& command);
Action setup_run(CommandOptions& command);
Action setup_ls(CommandOptions& command);
Action setup_ps(CommandOptions& command);
Action setup_rm(CommandOptions& command);
Action setup_info(CommandOptions& command);
Action setup_dump(CommandOptions& command);
Action setup_pack(CommandOptions& command);
Action setup_unpack(CommandOptions& command);
Action setup_inspect(CommandOptions& command);
Action setup_verify(CommandOptions& command);
Action setup_doctor(CommandOptions& command);
Action setup_completion(CommandOptions& command);

// What a guest's execve starts instead of a command: goes on with the program described in this descriptor.
int continue_run(int fd);

} // namespace rdb::cli
