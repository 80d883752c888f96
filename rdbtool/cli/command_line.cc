// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the command, lets it parse its options, runs it, and turns all trouble into one line and a status.
// Each command has options of its own and is not a subcommand for CLI11: a program called `ls` in `rdb run
// ls` must never be taken for rdb's own command of that name.
#include "rdbtool/cli/command_line.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/failure.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/cli/help.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace rdb::cli {
namespace {

const Command& find_command(std::span<const Command> commands, const std::string& name) {
  auto found = std::ranges::find_if(commands, [&](const Command& command) { return command.name == name; });
  if (found != commands.end()) return *found;
  std::string near = nearest_command(commands, name);
  if (near.empty()) user_error("there is no command '{}'; 'rdb help' lists them", name);
  user_error("there is no command '{}', did you mean '{}'? 'rdb help' lists them", name, near);
}

int run_command(const Command& command, const std::vector<std::string>& words) {
  CommandOptions options(command.name, command.summary);
  Action action = command.setup(options);
  if (options.parse(words) == CommandOptions::Parsed::help_wanted) {
    fmt::print("{}", options.help());
    return 0;
  }
  return action();
}

int dispatch(std::span<const Command> commands, const std::vector<std::string>& args) {
  if (args.empty()) user_error("no command given; 'rdb help' lists them");
  const std::string& first = args[0];
  if (first == "--version") {
    fmt::print("rdb {}\n", RDB_VERSION);
    return 0;
  }
  if (first == "help" || first == "--help" || first == "-h") {
    if (args.size() > 2) user_error("help takes one command, as in 'rdb help {}'", args[1]);
    if (args.size() == 1 || args[1] == "help")
      fmt::print("{}", overview(commands));
    else
      fmt::print("{}", command_help(find_command(commands, args[1])));
    return 0;
  }
  if (first.starts_with('-')) user_error("unknown option '{}'; 'rdb help' says what there is", first);
  return run_command(find_command(commands, first), {args.begin() + 1, args.end()});
}

int complain(const std::exception& trouble) {
  std::string line = visible_text(failure_text(trouble)); // a newline in a name begins no line of rdb's
  std::fflush(stdout); // what was printed before the trouble stands before it
  print_error("rdb: {}\n", line);
  return Failure::of(trouble).exit_status();
}

} // namespace

int guarded(const std::function<int()>& action) {
  try {
    int status = action();
    if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write");
    // One in between may have failed: what it could not write is gone, and the last one has succeeded.
    if (std::ferror(stdout) != 0) throw std::runtime_error("cannot write to standard output");
    return status;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) return complain(error);
    return complain(
        std::runtime_error(fmt::format("cannot write to standard output: {}", error.code().message())));
  } catch (const std::exception& error) {
    return complain(error);
  }
}

int run_command_line(std::span<const Command> commands, const std::vector<std::string>& args) {
  return guarded([&] { return dispatch(commands, args); });
}

} // namespace rdb::cli
