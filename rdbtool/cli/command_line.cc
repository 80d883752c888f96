// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the command, lets it parse its options, runs it, and turns all trouble into one line and a status.
// Each command is an application of its own for CLI11, not a subcommand: a guest called `ls` in `rdb run ls`
// must never be taken for rdb's own command of that name.
#include "rdbtool/cli/command_line.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/cli/help.h"

#include <algorithm>
#include <cstdio>

namespace rdb::cli {
namespace {

const Command& find_command(std::span<const Command> commands, const std::string& name) {
  auto found = std::ranges::find_if(commands, [&](const Command& command) { return command.name == name; });
  if (found != commands.end()) return *found;
  std::string near = nearest_command(commands, name);
  if (near.empty()) user_error("there is no command '{}'; 'rdb help' lists them", name);
  user_error("there is no command '{}', did you mean '{}'? 'rdb help' lists them", name, near);
}

// CLI11's words for a missing value are "--depth: 1 required INT missing".
std::string describe_missing_value(const std::string& message) {
  size_t colon = message.find(": 1 required ");
  if (colon == std::string::npos) return message;
  return message.substr(0, colon) + " needs a value";
}

// And for a word in place of a number: "Could not convert: --to = soon".
std::string describe_no_number(const std::string& message) {
  size_t colon = message.find(": ");
  size_t equals = message.find(" = ");
  if (colon == std::string::npos || equals == std::string::npos || equals < colon) return message;
  return fmt::format("{} {}: not a number it can take", message.substr(colon + 2, equals - colon - 2),
                     message.substr(equals + 3));
}

std::string describe(const CLI::ParseError& error, const CLI::App& app) {
  // A mistyped option often shows first as something else that is missing.
  for (const std::string& word : app.remaining()) {
    bool option = word.size() > 1 && word.starts_with('-') && word != "--";
    if (option) return fmt::format("unknown option '{}'", word);
    if (app.get_prefix_command()) break; // from here on the words are the guest's
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) && !app.remaining().empty())
    return fmt::format("unexpected argument '{}'", app.remaining().front());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return describe_missing_value(error.what());
  if (dynamic_cast<const CLI::ConversionError*>(&error)) return describe_no_number(error.what());
  return error.what();
}

// CLI11 takes "--flag=" for "--flag".
void refuse_empty_values(const CLI::App& app, const Command& command, const std::vector<std::string>& args) {
  for (const std::string& word : args) {
    // From here on the words are not rdb's.
    if (word == "--" || (app.get_prefix_command() && !word.starts_with('-'))) return;
    if (!word.starts_with("--") || !word.ends_with('=')) continue;
    std::string name = word.substr(0, word.size() - 1);
    if (const CLI::Option* option = app.get_option_no_throw(name);
        option && option->get_items_expected_max() == 0)
      user_error("{}: {} needs a value behind the '=', or none; 'rdb help {}' says what it takes",
                 command.name, name, command.name);
  }
}

int run_command(const Command& command, std::vector<std::string> args) {
  CLI::App app;
  Action action = set_up(app, command);
  refuse_empty_values(app, command, args);
  std::ranges::reverse(args); // as CLI11 wants them
  try {
    app.parse(std::move(args));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    user_error("{}: {}; 'rdb help {}' says what it takes", command.name, describe(error, app), command.name);
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
  std::string line = failure_text(trouble);
  std::ranges::replace(line, '\n', ' ');
  std::fflush(stdout); // what was printed before the trouble stands before it
  print_error("rdb: {}\n", line);
  return dynamic_cast<const UserError*>(&trouble) != nullptr ? kExitUsage : kExitFailure;
}

} // namespace

int guarded(const std::function<int()>& action) {
  try {
    int status = action();
    if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write to standard output");
    return status;
  } catch (const std::exception& error) {
    return complain(error);
  }
}

int run_command_line(std::span<const Command> commands, const std::vector<std::string>& args) {
  return guarded([&] { return dispatch(commands, args); });
}

} // namespace rdb::cli
