// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "twin_build.h"

#include "descriptors/elf_file.h"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string name_behind(std::string_view text, size_t at_sign) {
  size_t begin = at_sign + 1;
  if (begin < text.size() && text[begin] == '"')
    return std::string(text.substr(begin + 1, text.find('"', begin + 1) - begin - 1));
  return std::string(text.substr(begin, text.find_first_of("( =", begin) - begin));
}

// The line on which a function of C is defined.
unsigned defined_line(const std::string& source, const std::string& name) {
  std::istringstream text(read_whole(source));
  unsigned number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.find(name + "(") != std::string::npos && line.find('{') != std::string::npos &&
        !line.starts_with(' '))
      return number;
  }
  return 0;
}

// What a module defines, and the module with its local names made global.
struct Module {
  std::string text;
  std::map<std::string, std::string> functions; // with their linkage
  std::map<std::string, std::string> aliases;   // and what they are names for
  std::set<std::string> statics, constants;

  explicit Module(const std::string& before) {
    std::istringstream lines(before);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("define ")) read_function(line);
      if (line.starts_with("@")) read_variable(line);
      text += line + "\n";
    }
  }

private:
  static bool replace(std::string& line, std::string_view from, std::string_view to) {
    size_t at = line.find(from);
    if (at == std::string::npos) return false;
    line.replace(at, from.size(), to);
    return true;
  }
  void read_function(std::string& line) {
    bool is_weak = line.find(" linkonce_odr ") < line.find('@') || line.find(" weak") < line.find('@');
    const char* linkage = line.starts_with("define internal ") ? "local" : is_weak ? "weak" : "global";
    functions[name_behind(line, line.find('@'))] = linkage;
    if (line.starts_with("define internal ")) replace(line, "internal", "hidden");
  }
  void read_variable(std::string& line) {
    std::string name = name_behind(line, 0);
    if (line.find(" alias ") != std::string::npos) aliases[name] = name_behind(line, line.rfind('@'));
    // Strings and the like are no variables of the source.
    if (replace(line, " = private ", " = hidden ")) return;
    if (line.find(" = ") == std::string::npos || line.find(" = internal ") != line.find(" = ")) return;
    if (line.find(" constant ") != std::string::npos) constants.insert(name);
    statics.insert(name);
    replace(line, " = internal ", " = hidden ");
  }
};

} // namespace

TwinBuild::TwinBuild() {
  std::string name = testing::TempDir() + "rdb-twin.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
}

TwinBuild::~TwinBuild() {
  std::filesystem::remove_all(folder_);
}

std::string TwinBuild::source(const std::string& name) {
  return TWIN_PROGRAMS + name;
}

void TwinBuild::run(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  std::string shown;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
    shown += word + " ";
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = -1;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0)
    waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("failed: " + shown);
}

std::string TwinBuild::program(const std::string& name, const std::string& compiler,
                               const std::vector<std::string>& sources) {
  std::vector<std::string> command = words_of(compiler);
  command[0] = "/usr/bin/" + command[0];
  for (const std::string& each : sources)
    command.push_back(each.starts_with('/') || each.starts_with('-') ? each : source(each));
  command.insert(command.end(), {"-o", path(name)});
  run(command);
  return path(name);
}

std::string TwinBuild::twin(const std::string& name, const std::string& from, const std::string& flags,
                            const std::vector<std::string>& lines) {
  std::string file = from.starts_with('/') ? from : source(from);
  std::string compiler = file.ends_with(".cc") ? "/usr/bin/clang++-22" : "/usr/bin/clang-22";
  std::vector<std::string> command = {compiler,     "-O0", "-w", "-DTWIN",          "-S",
                                      "-emit-llvm", file,  "-o", path(name + ".ll")};
  for (const std::string& flag : words_of(flags))
    command.push_back(flag);
  run(command);
  Module module(read_whole(path(name + ".ll")));
  write_file(path(name + ".ll"), module.text);
  command = {compiler, "-O0", "-w", "-c", path(name + ".ll"), "-o", path(name + ".o")};
  for (const std::string& flag : words_of(flags))
    if (flag.starts_with("-f") || flag.starts_with("-m")) command.push_back(flag);
  run(command);

  std::string bytes = read_whole(path(name + ".o"));
  std::string facts = fmt::format("rdb-twin 1\nunit \"{}\" \"{}\" \"{}\"\n", name, file, "/");
  const elf::File object(bytes);
  for (const elf::Symbol& symbol : object.symbols()) {
    std::string text(symbol.name);
    if (!symbol.in_section()) continue;
    if (module.aliases.contains(text)) {
      facts += fmt::format("alias \"{}\" \"{}\"\n", text, module.aliases[text]);
    } else if (symbol.type() == STT_FUNC || symbol.type() == STT_GNU_IFUNC) {
      auto known = module.functions.find(text);
      facts +=
          fmt::format("function \"{0}\" \"{0}\" \"{1}\" {2} {3} rax:8 - {4}\n", text, file,
                      defined_line(file, text), known == module.functions.end() ? "global" : known->second,
                      symbol.type() == STT_GNU_IFUNC ? "ifunc" : "-");
    }
    if (module.statics.contains(text)) {
      size_t dot = text.find('.');
      bool is_local = dot != std::string::npos;
      std::string plain = is_local ? text.substr(dot + 1) : text;
      if (plain.starts_with("_ZN12_GLOBAL__N_1")) plain = plain.substr(18, plain.size() - 19);
      facts += fmt::format("static \"{}\" \"{}\" \"{}\" \"{}\" {} {} {}\n", text, plain,
                           is_local ? text.substr(0, dot) : "", file,
                           marked_line(file, text == plain || is_local ? text : plain), symbol.raw.st_size,
                           module.constants.contains(text) ? "const" : "mutable");
    }
  }
  for (const std::string& line : lines)
    facts += line + "\n";
  write_file(path(name + ".facts"), facts + "end\n");
  run({"/usr/bin/objcopy", "--add-section", ".rdbtwin=" + path(name + ".facts"), path(name + ".o")});
  return path(name + ".o");
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

unsigned marked_line(const std::string& source, const std::string& name) {
  std::istringstream text(read_whole(source));
  unsigned number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.ends_with("// line: " + name)) return number;
  }
  return 0;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

} // namespace rdb::debug
