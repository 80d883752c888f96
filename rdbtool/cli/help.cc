// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The texts that `rdb help` prints. CLI11 writes the list of a command's options; the usage line is ours,
// since CLI11 cannot show that a guest's command line follows.
#include "rdbtool/cli/help.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <string_view>

namespace rdb::cli {
namespace {

class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter() {
    label("OPTIONS", "options");
    label("Positionals", "Arguments");
    column_width(28);
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (!app->get_prefix_command()) return CLI::Formatter::make_usage(app, std::move(name));
    return fmt::format("Usage: {} [options] [--] PROGRAM [ARGS...]\n", name);
  }

  std::string make_footer(const CLI::App* app) const override {
    return app->get_footer().empty() ? "" : "\n" + app->get_footer() + "\n";
  }
};

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

Action set_up(CLI::App& app, const Command& command) {
  app.name(fmt::format("rdb {}", command.name));
  app.description(fmt::format("{}.", command.summary));
  app.formatter(std::make_shared<HelpFormatter>());
  return command.setup(app);
}

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
  CLI::App app;
  Action action = set_up(app, command);
  return app.help();
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
