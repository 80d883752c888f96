// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb completion: prints the script that teaches a shell rdb's commands and options; with --man, writes the
// manual pages.
#include "rdbtool/base/error.h"
#include "rdbtool/base/output_file.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/completion.h"

#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <system_error>

namespace rdb::cli {
namespace {

void write_page(const std::string& path, const std::string& text) {
  try {
    write_output(path, text);
  } catch (const std::system_error& error) {
    output_failed("", error);
  }
}

void write_pages(const std::string& folder) {
  write_page(folder + "/rdb.1", manual_overview(commands(), RDB_VERSION));
  for (const Command& command : commands())
    write_page(fmt::format("{}/rdb-{}.1", folder, command.name), manual_page(command, RDB_VERSION));
}

} // namespace

Action setup_completion(CommandOptions& command) {
  struct CompletionOptions {
    std::string shell, pages;
  };
  auto options = std::make_shared<CompletionOptions>();
  command.option("SHELL", options->shell, "bash or zsh");
  command.option("--man", options->pages, "Write the manual pages into this folder instead");
  command.footer("For bash:  rdb completion bash >~/.local/share/bash-completion/completions/rdb\n"
                 "For zsh:   rdb completion zsh >~/.zfunc/_rdb   (with ~/.zfunc in fpath)");
  return [options] {
    if (!options->pages.empty())
      write_pages(options->pages);
    else if (options->shell == "bash")
      fmt::print("{}", bash_completion(commands()));
    else if (options->shell == "zsh")
      fmt::print("{}", zsh_completion(commands()));
    else
      user_error("completion: for which shell, bash or zsh?");
    return 0;
  };
}

} // namespace rdb::cli
