// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/help.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <string_view>

namespace rdb::cli {
namespace {

// The number of single-letter changes that turn one word into the other.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); j++) {
      size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
    }
  }
  return row.back();
}

} // namespace

std::string overview(std::span<const Command> commands) {
  std::string text = "rdb: record a run of a program once, then debug that exact run, again and again.\n"
                     "\n"
                     "Usage: rdb COMMAND [options] ...\n"
                     "\n";
  if (!commands.empty()) {
    text += "Commands:\n";
    for (const Command& command : commands)
      text += fmt::format("  {:<12} {}\n", command.name, command.summary);
    text += "\n";
  }
  text +=
      "rdb help COMMAND tells more about one of them; rdb --version prints the version.\n"
      "\n"
      "Exit status: that of the recorded program once one runs; 2 for wrong use; 125 if rdb itself fails.\n";
  return text;
}

std::string command_help(const Command& command) {
  CommandOptions options(command.name, command.summary);
  Action action = command.setup(options);
  return options.help();
}

std::string nearest_command(std::span<const Command> commands, const std::string& name) {
  std::string best;
  size_t best_distance = 3; // further away it is a guess, not help
  for (const Command& command : commands) {
    size_t d = distance(name, command.name);
    if (d < best_distance && d < name.size()) {
      best_distance = d;
      best = command.name;
    }
  }
  return best;
}

} // namespace rdb::cli
