// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See command.h. Options are looked up in small tables; one not listed stands for itself, which is right for
// every option that carries no separate value or whose value cannot be mistaken for an input.
#include "llvm-passes/link/command.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace rdb::link {

namespace {

// Options whose value is the next argument. Long ones are accepted with one dash or two.
constexpr std::array kWithValue = {"-o",
                                   "-L",
                                   "-l",
                                   "-m",
                                   "-z",
                                   "-T",
                                   "-e",
                                   "-u",
                                   "-h",
                                   "-I",
                                   "-y",
                                   "-A",
                                   "-b",
                                   "-c",
                                   "-f",
                                   "-F",
                                   "-G",
                                   "-R",
                                   "-Y",
                                   "-a",
                                   "soname",
                                   "rpath",
                                   "rpath-link",
                                   "dynamic-linker",
                                   "plugin",
                                   "plugin-opt",
                                   "Map",
                                   "version-script",
                                   "dynamic-list",
                                   "defsym",
                                   "wrap",
                                   "exclude-libs",
                                   "entry",
                                   "undefined",
                                   "library",
                                   "library-path",
                                   "output",
                                   "script",
                                   "init",
                                   "fini",
                                   "section-start",
                                   "Ttext",
                                   "Tdata",
                                   "Tbss",
                                   "sysroot",
                                   "symbol-ordering-file",
                                   "dependency-file",
                                   "retain-symbols-file",
                                   "just-symbols",
                                   "format",
                                   "audit",
                                   "auxiliary",
                                   "filter",
                                   "mllvm",
                                   "image-base",
                                   "hash-style",
                                   "require-defined",
                                   "trace-symbol",
                                   "default-script",
                                   "assert",
                                   "export-dynamic-symbol"};

// Left out of a repeated link, alone or with their value: they strip symbols or write side outputs.
constexpr std::array kLeftOut = {"-s",
                                 "-S",
                                 "-x",
                                 "-X",
                                 "-M",
                                 "-t",
                                 "strip-all",
                                 "strip-debug",
                                 "discard-all",
                                 "discard-locals",
                                 "print-map",
                                 "trace",
                                 "cref",
                                 "stats",
                                 "verbose",
                                 "print-gc-sections",
                                 "print-icf-sections",
                                 "time-trace",
                                 "gdb-index",
                                 "no-warnings",
                                 "fatal-warnings"};
constexpr std::array kLeftOutWithValue = {"Map",
                                          "dependency-file",
                                          "compress-debug-sections",
                                          "time-trace-file",
                                          "print-archive-stats",
                                          "print-symbol-order",
                                          "why-extract",
                                          "out-implib"};

std::string_view without_dashes(std::string_view option) {
  if (option.starts_with("--")) return option.substr(2);
  if (option.starts_with("-")) return option.substr(1);
  return {};
}

// A table's entries are "-x" (one letter, one dash) or "long" (with one dash or two).
template <class Table>
bool listed(const Table& table, std::string_view option) {
  return std::ranges::any_of(table, [&](std::string_view entry) {
    return entry.starts_with("-") ? option == entry : without_dashes(option) == entry;
  });
}

// The value in "--name=value"; `found` says whether the option is this one.
std::string_view value_after(std::string_view option, std::string_view name, bool& found) {
  std::string_view rest = without_dashes(option);
  found = rest.starts_with(name) && rest.size() > name.size() && rest[name.size()] == '=';
  return found ? rest.substr(name.size() + 1) : std::string_view{};
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

// Splits a response file: blanks separate, quotes and backslashes keep together.
std::vector<std::string> split_response(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      open = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

void expand(const std::string& argument, std::vector<std::string>& out, int depth) {
  if (argument.starts_with("@") && depth < 16) {
    std::ifstream in(argument.substr(1), std::ios::binary);
    if (in) {
      std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      for (const std::string& word : split_response(text))
        expand(word, out, depth + 1);
      return;
    }
  }
  out.push_back(argument);
}

} // namespace

Command::Command(const std::vector<std::string>& argv) {
  if (argv.empty()) bug("an empty linker command");
  arguments_.push_back(argv[0]);
  for (size_t i = 1; i < argv.size(); ++i)
    expand(argv[i], arguments_, 0);
  parse();
}

void Command::parse() {
  // Library paths count for all libraries, wherever they stand.
  struct Library {
    size_t argument;
    std::string name;
    bool allow_shared;
  };
  struct Positional {
    size_t argument;
    std::string path;
  };
  std::vector<Library> libraries;
  std::vector<Positional> files;
  bool allow_shared = true;
  for (size_t i = 1; i < arguments_.size(); ++i) {
    const std::string& argument = arguments_[i];
    std::string next = i + 1 < arguments_.size() ? arguments_[i + 1] : "";
    std::string_view option = without_dashes(argument);
    bool found = false;
    if (!argument.starts_with("-")) {
      files.push_back({i, argument});
    } else if (argument == "-o" || option == "output") {
      output_ = next;
    } else if (std::string_view output = value_after(argument, "output", found); found) {
      output_ = output;
    } else if (argument == "-l" || option == "library") {
      libraries.push_back({i, next, allow_shared});
    } else if (std::string_view library = value_after(argument, "library", found); found) {
      libraries.push_back({i, std::string(library), allow_shared});
    } else if (argument.starts_with("-l")) {
      libraries.push_back({i, argument.substr(2), allow_shared});
    } else if (argument == "-L" || option == "library-path") {
      library_paths_.push_back(next);
    } else if (std::string_view folder = value_after(argument, "library-path", found); found) {
      library_paths_.emplace_back(folder);
    } else if (argument.starts_with("-L")) {
      library_paths_.push_back(argument.substr(2));
    } else if (std::string_view root = value_after(argument, "sysroot", found); found) {
      sysroot_ = root;
    } else if (argument == "-r" || option == "relocatable") {
      relocatable_ = true;
    } else if (option == "shared" || option == "Bshareable") {
      shared_ = true;
    } else if (option == "Bstatic" || option == "static" || option == "dn" || option == "non_shared") {
      allow_shared = false;
    } else if (option == "Bdynamic" || option == "dy" || option == "call_shared") {
      allow_shared = true;
    }
    if (listed(kWithValue, argument)) ++i;
  }
  if (!sysroot_.empty())
    for (std::string& folder : library_paths_)
      if (folder.starts_with("=")) folder = sysroot_ + folder.substr(1);
  for (const Positional& file : files)
    if (is_file(file.path)) inputs_.push_back({file.argument, file.path});
  for (const Library& library : libraries)
    if (std::string path = find_library(library.name, library.allow_shared); !path.empty())
      inputs_.push_back({library.argument, path});
  std::ranges::sort(inputs_, {}, &CommandInput::argument);
}

std::string Command::find_library(std::string_view name, bool allow_shared) const {
  bool exact = name.starts_with(":");
  for (const std::string& folder : library_paths_) {
    if (exact) {
      std::string path = folder + "/" + std::string(name.substr(1));
      if (is_file(path)) return path;
      continue;
    }
    std::string base = folder + "/lib" + std::string(name);
    if (allow_shared && is_file(base + ".so")) return base + ".so";
    if (is_file(base + ".a")) return base + ".a";
  }
  return "";
}

std::vector<std::string> Command::repeated(const std::map<size_t, std::string>& replaced,
                                           const std::string& output) const {
  std::vector<std::string> result = {arguments_[0]};
  for (size_t i = 1; i < arguments_.size(); ++i) {
    const std::string& argument = arguments_[i];
    bool has_value = listed(kWithValue, argument);
    bool dropped = listed(kLeftOut, argument) || listed(kLeftOutWithValue, argument) || argument == "-o" ||
                   without_dashes(argument) == "output";
    for (std::string_view option : kLeftOutWithValue) {
      bool found = false;
      value_after(argument, option, found);
      dropped |= found;
    }
    bool joined_output = false;
    value_after(argument, "output", joined_output);
    if (auto other = replaced.find(i); other != replaced.end())
      result.push_back(other->second);
    else if (!dropped && !joined_output)
      result.push_back(argument);
    if (has_value) {
      if (!dropped && !replaced.contains(i) && i + 1 < arguments_.size()) result.push_back(arguments_[i + 1]);
      ++i;
    }
  }
  result.push_back("-o");
  result.push_back(output);
  return result;
}

int run_tool(const std::vector<std::string>& argv, const std::string& output_path) {
  size_t size = 0;
  for (const std::string& argument : argv)
    size += argument.size() + 1;
  std::vector<std::string> actual = argv;
  std::string response = output_path + ".args";
  if (size > 100'000) {
    std::ofstream out(response);
    for (size_t i = 1; i < argv.size(); ++i) {
      for (char c : argv[i]) {
        if (std::strchr(" \t\n\"'\\", c) != nullptr) out << '\\';
        out << c;
      }
      out << '\n';
    }
    actual = {argv[0], "@" + response};
  }
  std::vector<char*> pointers;
  pointers.reserve(actual.size() + 1);
  for (std::string& argument : actual)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  int error = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) user_error("cannot run the linker '{}': {}", argv[0], std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace rdb::link
