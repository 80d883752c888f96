// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/print_build.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/exec_words.h"
#include "rdbtool/debug/bundle.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) user_error("print: {}: {}", path, std::strerror(errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs a command in a folder; what it prints goes to a file. Its exit status.
int run_in(const std::string& directory, const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> argv = exec_words(words);
  pid_t child = fork();
  if (child == 0) {
    int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0) {
      dup2(fd, STDOUT_FILENO);
      dup2(fd, STDERR_FILENO);
    }
    if (chdir(directory.c_str()) == 0) execv(argv[0], argv.data());
    dprintf(STDERR_FILENO, "%s: %s\n", argv[0], std::strerror(errno));
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0)
    user_error("print: {}: {}", words[0], std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The compiler's messages, told of what the user typed.
std::string retold(const std::string& log, const EditedSource& source, bool& at_expression) {
  std::string text;
  std::set<std::string> told_before; // a macro repeats its argument
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    std::string told = retell_message(line, source);
    bool message =
        line.find(": error: ") != std::string::npos || line.find(": warning: ") != std::string::npos;
    if (!message || !told_before.insert(told).second) continue;
    at_expression |= told != line;
    text += (text.empty() ? "" : "; ") + told;
  }
  return text.empty() ? read_file(log) : text;
}

class Builder {
public:
  Builder(const PrintBuild& build, std::vector<PrintSource>& sources, const std::string& condition)
      : build_(build), sources_(sources), condition_(condition) {}

  std::string run() {
    for (size_t i = 0; i < sources_.size(); ++i)
      compile(sources_[i], i);
    std::string why;
    if (!bind(objects_, why)) user_error("print: {}", why);
    return bundle_name() + ".rdb";
  }

private:
  std::string bundle_name() const {
    return build_.folder + "/" + fs::path(build_.program_path).filename().string();
  }

  // Tries the ways in which the file may have been compiled until one gives the recorded code.
  void compile(PrintSource& source, size_t number) {
    source.edited = insert_regions(read_file(source.path), source.requests, condition_);
    std::string base = fmt::format("{}/{}", build_.folder, number);
    std::string text = base + fs::path(source.path).extension().string();
    std::ofstream(text, std::ios::binary) << source.edited.text;
    std::string object = base + ".o", log = base + ".log", why;
    for (const CompileCommand& command :
         compile_commands(source.path, build_.program_path, build_.user_flags)) {
      std::vector<std::string> words{build_.compiler_folder + (command.cxx ? "/rdb-clang++" : "/rdb-clang")};
      words.insert(words.end(), command.flags.begin(), command.flags.end());
      words.insert(words.end(), {"-c", "-w", fmt::format("--rdb-edit={}={}", source.path, text), "-o", object,
                                 source.path});
      if (run_in(command.directory, words, log) != 0) {
        bool at_expression = false;
        why = retold(log, source.edited, at_expression);
        if (at_expression) break; // other flags will not make it better
        continue;
      }
      std::vector<std::string> one = {object};
      if (!bind(one, why)) continue;
      source.way = command.from;
      objects_.push_back(object);
      return;
    }
    user_error("print: {}: {}", source.requests.front().file, why);
  }

  // Makes the bundle of some objects. False if the program does not hold their code.
  bool bind(const std::vector<std::string>& objects, std::string& why) const {
    std::string log = build_.folder + "/bind.log";
    std::vector<std::string> words = {build_.compiler_folder + "/rdb-clang", "--rdb-bind=" + build_.program,
                                      "-o", bundle_name()};
    words.insert(words.end(), objects.begin(), objects.end());
    words.insert(words.end(), build_.libraries.begin(), build_.libraries.end());
    if (run_in(build_.folder, words, log) != 0) {
      why = read_file(log);
      while (why.ends_with('\n'))
        why.pop_back();
      return false;
    }
    Bundle bundle(bundle_name() + ".rdb");
    const descriptors::Descriptors& d = bundle.descriptors();
    for (const descriptors::Region& region : d.regions) {
      bool placed = std::ranges::any_of(
          d.locations, [&](const descriptors::Location& l) { return l.region == region.id; });
      if (placed) return true;
      why = region.status == descriptors::Status::kUnused
                ? "the recorded program was compiled from another source or with other "
                  "flags; give them behind --"
                : region.reason;
    }
    return false;
  }

  const PrintBuild& build_;
  std::vector<PrintSource>& sources_;
  const std::string& condition_;
  std::vector<std::string> objects_;
};

} // namespace

std::string build_print(const PrintBuild& build, std::vector<PrintSource>& sources,
                        const std::string& condition) {
  return Builder(build, sources, condition).run();
}

} // namespace rdb::debug
