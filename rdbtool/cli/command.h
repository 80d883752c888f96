// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One command of rdb: its name, its line in the help, and how its options become an action.
//
// To add the command NAME:
//   1. cmd_NAME.cc (listed in CMakeLists.txt) defines `Action setup_NAME(CLI::App& app)`: it declares the
//      options on `app`, with a footer of examples if they help, and returns what to do once they are parsed.
//      What the options are parsed into must live as long as the action: keep it in a shared_ptr the action
//      holds.
//   2. Below, declare setup_NAME; in commands.cc, add one line to the table.
//
//      Action setup_info(CLI::App& app) {
//        auto trace = std::make_shared<std::string>("latest");
//        app.add_option("TRACE", *trace, "The recording; the latest one if none is given");
//        return [trace] { return print_info(*trace); };
//      }
//
// Commands that start a program (`rdb run [options] [--] PROGRAM [ARGS...]`) use guest_command.h.
// An option that may be repeated needs ->allow_extra_args(false), or it swallows the words after its value.
//
// The action returns rdb's exit status: the guest's own where there is a guest, else 0. Trouble is thrown
// (rdbtool/base/error.h) and becomes one line on stderr that begins "rdb:" and an exit status in one place,
// command_line.cc; no command prints its own.
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
  // Declares the options on `app`, which outlives the action.
  Action (*setup)(CLI::App& app);
};

// All commands, in the order in which the help lists them.
std::span<const Command> commands();

// One setup function per command, each in cmd_NAME.cc.
Action setup_gdb(CLI::App& app);
Action setup_print(CLI::App& app);
Action setup_history(CLI::App& app);
Action setup_last_write(CLI::App& app);
Action setup_record(CLI::App& app);
Action setup_replay(CLI::App& app);
Action setup_run(CLI::App& app);
Action setup_ls(CLI::App& app);
Action setup_ps(CLI::App& app);
Action setup_rm(CLI::App& app);
Action setup_info(CLI::App& app);
Action setup_dump(CLI::App& app);
Action setup_pack(CLI::App& app);
Action setup_unpack(CLI::App& app);
Action setup_inspect(CLI::App& app);
Action setup_verify(CLI::App& app);
Action setup_doctor(CLI::App& app);
Action setup_completion(CLI::App& app);

// What a guest's execve starts instead of a command: goes on with the program described in this descriptor.
int continue_run(int fd);

} // namespace rdb::cli
