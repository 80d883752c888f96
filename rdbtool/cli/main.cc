// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rdb program: parses the command line, runs one command, turns trouble into one line and a status.
#include "rdbtool/base/error.h"
#include "rdbtool/cli/command.h"

#include <cstdio>
#include <vector>

namespace {

int complain(const char* kind, const std::exception& trouble, int status) {
  fmt::print(stderr, "rdb: {}{}\n", kind, trouble.what());
  return status;
}

int run(int argc, char** argv) {
  CLI::App app{"A replay debugger: record a run once, then debug that exact run with code of your own.",
               "rdb"};
  app.set_version_flag("--version", "rdb " RDB_VERSION);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, rdb::cli::Action>> actions;
  for (const rdb::cli::Command& command : rdb::cli::commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    actions.emplace_back(sub, command.setup(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : rdb::kExitUsage;
  }
  for (auto& [sub, action] : actions)
    if (sub->parsed()) return action();
  return rdb::kExitUsage;
}

} // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const rdb::UserError& error) {
    return complain("", error, rdb::kExitUsage);
  } catch (const rdb::Limit& error) {
    return complain("not supported: ", error, rdb::kExitFailure);
  } catch (const std::exception& error) {
    return complain("internal error, please report it: ", error, rdb::kExitFailure);
  }
}
