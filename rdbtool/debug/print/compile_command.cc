// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/print/compile_command.h"

#include "descriptors/descriptor.h"
#include "rdbtool/base/bounded_file.h"
#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/trusted_file.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/debug/regions/bundle.h"
#include "rdbtool/trace/format/bounded_json.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace rdb::debug {
namespace {

namespace fs = std::filesystem;

bool is_cxx(const fs::path& source) {
  static const std::string kEndings[] = {".cc", ".cpp", ".cxx", ".C", ".c++", ".hh", ".hpp"};
  return std::ranges::find(kEndings, source.extension().string()) != std::end(kEndings);
}

bool is_input(const std::string& word) {
  static const std::string kEndings[] = {".c", ".cc", ".cpp", ".cxx", ".C", ".c++",
                                         ".o", ".a",  ".so",  ".s",   ".S"};
  return std::ranges::find(kEndings, fs::path(word).extension().string()) != std::end(kEndings);
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error);
}

constexpr size_t kMaxDatabase = 1 << 30;
constexpr trace::JsonBounds kDatabaseBounds = {8, 100'000'000};

void say_not_used(const std::string& path, const std::string& why) {
  print_error("rdb: not using {}\n", visible_text(why.find(path) == 0 ? why : path + ": " + why));
}

// Flags can make a compiler load plugins: a file with flags that others can change is passed over. False if
// it is not there.
bool read_trusted(const std::string& path, std::string& text) {
  try {
    text = read_bounded(open_trusted_file(path, LastLink::follow).get(), path, kMaxDatabase);
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const UserError& error) {
    if (fs::exists(path)) say_not_used(path, error.what());
    return false;
  }
}

void add_from_database(const fs::path& source, std::vector<CompileCommand>& out) {
  std::vector<fs::path> folders;
  for (fs::path folder = source.parent_path();; folder = folder.parent_path()) {
    folders.push_back(folder);
    folders.push_back(folder / "build");
    if (folder == folder.root_path()) break;
  }
  for (const fs::path& folder : folders) {
    std::string path = folder / "compile_commands.json";
    std::string text;
    if (!read_trusted(path, text)) continue;
    auto database = trace::parse_bounded_json(text, path, kDatabaseBounds);
    if (!database.is_array()) user_error("print: {} is not a list of compile commands", path);
    for (const auto& entry : database) {
      if (!entry.is_object()) continue;
      try {
        std::string directory = entry.value("directory", folder.string());
        if (!same_file(fs::path(directory) / entry.value("file", ""), source)) continue;
        std::vector<std::string> words = entry.contains("arguments")
                                             ? entry["arguments"].get<std::vector<std::string>>()
                                             : split_command(entry.value("command", ""));
        out.push_back({directory, is_cxx(source), flags_of(words), path});
      } catch (const nlohmann::ordered_json::exception&) {
        user_error("print: {} holds something else than compile commands", path);
      }
    }
    if (!out.empty()) return;
  }
}

void add_from_bundle(const fs::path& source, const std::string& program, std::vector<CompileCommand>& out) {
  std::string path = program + ".rdb";
  std::error_code error;
  if (!fs::exists(path + "/descriptors", error)) return;
  if (std::string why = Bundle::why_not_trusted(path); !why.empty()) {
    say_not_used(path, why);
    return;
  }
  Bundle bundle(path);
  for (const descriptors::Unit& unit : bundle.descriptors().units) {
    CompileCommand command{unit.directory, is_cxx(source), flags_of(split_command(unit.command)), path};
    // A unit of its own is the surest; others of the program were probably compiled alike.
    bool own = same_file(fs::path(unit.directory) / unit.source, source);
    out.insert(own ? out.begin() : out.end(), std::move(command));
  }
}

void add_usual_ways(const fs::path& source, std::vector<CompileCommand>& out) {
  for (const char* level : {"-O0", "-O2", "-O1", "-O3", "-Os"})
    out.push_back({source.parent_path(), is_cxx(source), {level}, "trying the usual flags"});
}

} // namespace

std::vector<std::string> split_command(const std::string& command) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    char c = command[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (quote != 0 && c == quote)
      quote = 0;
    else if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < command.size())
      words.back() += command[++i];
    else
      words.back() += c;
  }
  return words;
}

std::vector<std::string> flags_of(const std::vector<std::string>& words) {
  static const std::string kWithValue[] = {"-o", "-MF", "-MT", "-MQ"};
  static const std::string kAlone[] = {"-c", "-S", "-E", "-M", "-MM", "-MD", "-MMD", "-MP", "-Werror"};
  std::vector<std::string> flags;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (std::ranges::find(kWithValue, word) != std::end(kWithValue)) {
      ++i;
      continue;
    }
    bool takes_value = word == "-I" || word == "-D" || word == "-U" || word == "-include" ||
                       word == "-isystem" || word == "-iquote" || word == "-x" || word == "-Xclang" ||
                       word == "-mllvm";
    if (takes_value && i + 1 < words.size()) {
      flags.insert(flags.end(), {word, words[++i]});
      continue;
    }
    if (std::ranges::find(kAlone, word) != std::end(kAlone)) continue;
    if (!word.starts_with('-')) {
      if (!is_input(word)) flags.push_back(word);
      continue;
    }
    if (word.starts_with("-l") || word.starts_with("-L") || word.starts_with("-Wl,") ||
        word.starts_with("--rdb-"))
      continue;
    flags.push_back(word);
  }
  return flags;
}

std::vector<CompileCommand> compile_commands(const std::string& source, const std::string& program,
                                             const std::vector<std::string>& flags) {
  std::vector<CompileCommand> commands;
  if (!flags.empty()) return {{fs::current_path(), is_cxx(source), flags, "the command line"}};
  add_from_database(source, commands);
  if (commands.empty()) add_from_bundle(source, program, commands);
  if (commands.empty()) add_usual_ways(source, commands);
  return commands;
}

} // namespace rdb::debug
