// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/print/print_build.h"

#include "rdbtool/base/bounded_file.h"
#include "rdbtool/base/error.h"
#include "rdbtool/base/exec_words.h"
#include "rdbtool/base/trusted_file.h"
#include "rdbtool/debug/regions/bundle.h"
#include "rdbtool/debug/regions/program_file.h"

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

constexpr size_t kMaxFile = 256 << 20; // of sources and of what compilers say

std::string read_file(const std::string& path) {
  try {
    return read_bounded(path, kMaxFile);
  } catch (const std::system_error& error) {
    user_error("print: {}", error.what());
  }
}

std::string read_source(const std::string& path) {
  try {
    return read_bounded(open_trusted_file(path).get(), path, kMaxFile);
  } catch (const std::system_error& error) {
    user_error("print: {}", error.what());
  }
}

// The files that a rule for make names after its target, as compilers write it.
std::vector<std::string> dependencies(const std::string& rule) {
  std::vector<std::string> files;
  std::string word;
  auto end_word = [&] {
    if (!word.empty() && !word.ends_with(':')) files.push_back(word);
    word.clear();
  };
  for (size_t i = 0; i < rule.size(); ++i) {
    char next = i + 1 < rule.size() ? rule[i + 1] : ' ';
    if (rule[i] == '\\' && (next == ' ' || next == '#'))
      word += rule[++i];
    else if (rule[i] == '$' && next == '$')
      word += rule[++i];
    else if (rule[i] == ' ' || rule[i] == '\n' || (rule[i] == '\\' && next == '\n'))
      end_word();
    else
      word += rule[i];
  }
  end_word();
  return files;
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

// Why the code of a file cannot be compiled again and bound to it; empty if it can, as far as one sees.
std::string unfit(const ProgramCopy& file) {
  try {
    ProgramFile program(file.copy);
    if (program.elf().symbols().empty()) return fmt::format("{} has no symbol table", file.path);
    // Compilers sign; the C library's start-up code is always gcc's.
    const elf::Section* comment = program.elf().find(".comment");
    if (comment == nullptr || comment->bytes.find("clang version") != std::string_view::npos) return "";
    return fmt::format("{} was not compiled by clang", file.path);
  } catch (const elf::Error& error) {
    return fmt::format("{}: {}", file.path, error.what());
  }
}

class Builder {
public:
  Builder(const PrintBuild& build, std::vector<PrintSource>& sources, const std::string& condition)
      : build_(build), sources_(sources), condition_(condition) {
    for (const ProgramCopy& file : build.files)
      if (unfit(file).empty()) targets_.push_back({file, {}});
  }

  PrintBundles run() {
    PrintBundles result;
    if (targets_.empty()) {
      result.why_not = unfit(build_.files.front());
      return result;
    }
    for (size_t i = 0; i < sources_.size(); ++i)
      if (std::string why; !compile(sources_[i], i, why)) {
        result.why_not = why;
        return result;
      }
    for (const BindTarget& target : targets_) {
      if (target.objects.empty()) continue;
      // With one object, finding out whose it is has made the bundle.
      std::string why;
      if (target.objects.size() > 1 && bind(target, target.objects, why) != Bound::placed)
        user_error("print: {}", why);
      result.paths.push_back(bundle_name(target) + ".rdb");
      note_missing(Bundle(result.paths.back()).descriptors());
    }
    return result;
  }

private:
  struct BindTarget {
    ProgramCopy file;
    std::vector<std::string> objects; // whose code it has
  };

  std::string bundle_name(const BindTarget& target) const {
    return fmt::format("{}/{}/{}", build_.folder, &target - targets_.data(),
                       fs::path(target.file.path).filename().string());
  }

  // Tries the ways in which the file may have been compiled until one gives recorded code.
  bool compile(PrintSource& source, size_t number, std::string& why) {
    source.edited = insert_regions(read_source(source.path), source.requests, condition_);
    std::string base = fmt::format("{}/{}", build_.folder, number);
    std::string text = base + fs::path(source.path).extension().string();
    std::ofstream(text, std::ios::binary) << source.edited.text;
    std::string object = base + ".o", log = base + ".log", rule = base + ".d";
    for (const CompileCommand& command :
         compile_commands(source.path, build_.files.front().path, build_.user_flags)) {
      std::vector<std::string> words{build_.compiler_folder + (command.cxx ? "/rdb-clang++" : "/rdb-clang")};
      words.insert(words.end(), command.flags.begin(), command.flags.end());
      words.insert(words.end(), {"-c", "-w", fmt::format("--rdb-edit={}={}", source.path, text), "-MD", "-MF",
                                 rule, "-o", object, source.path});
      if (run_in(command.directory, words, log) != 0) {
        bool at_expression = false;
        why = retold(log, source.edited, at_expression);
        // Other flags will not make it better.
        if (at_expression) user_error("print: {}: {}", source.requests.front().file, why);
        continue;
      }
      // Headers are code as well; those of rdb itself are as good as its compiler.
      for (const std::string& file : dependencies(read_file(rule)))
        if (why = why_not_compiled(fs::path(command.directory) / file); !why.empty()) return false;
      Bound found = Bound::elsewhere;
      for (size_t i = 0; i < targets_.size() && found == Bound::elsewhere; ++i) {
        found = bind(targets_[i], {object}, why);
        if (found == Bound::placed) targets_[i].objects.push_back(object);
      }
      if (found == Bound::placed) return true;
      if (found == Bound::lost) break; // it is the recorded code: other flags will not help
    }
    why = fmt::format("{}: {}", source.requests.front().file, why);
    return false;
  }

  std::string why_not_compiled(const std::string& file) const {
    fs::path installed = fs::path(build_.compiler_folder).parent_path();
    if (file.starts_with(installed.string() + "/lib/rdb/"))
      return why_not_trusted_as(file, build_.compiler_folder + "/rdb-clang");
    return why_not_trusted(file, LastLink::follow);
  }

  // What the regions cannot see where they stand, and why.
  void note_missing(const descriptors::Descriptors& d) {
    for (const descriptors::Region& region : d.regions) {
      const descriptors::Source* file = nullptr;
      for (const descriptors::Source& source : d.sources)
        if (source.id == region.source) file = &source;
      if (std::string why = reason_of(d, region); file != nullptr && !why.empty())
        for (PrintSource& source : sources_)
          if (fs::path(source.path).filename() == fs::path(file->path).filename())
            for (auto line = source.edited.lines.lower_bound(region.begin_line);
                 line != source.edited.lines.end() && line->first < region.end_line; ++line)
              source.requests[line->second.request].missing.emplace(line->second.expression, why);
    }
  }

  static std::string reason_of(const descriptors::Descriptors& d, const descriptors::Region& region) {
    if (!region.reason.empty()) return region.reason;
    for (const descriptors::Argument& argument : d.arguments)
      if (argument.region == region.id)
        for (const descriptors::Part& part : argument.parts)
          if (part.cls == descriptors::Class::unavailable)
            return fmt::format("{} is {}", argument.name, part.reason.empty() ? "not kept" : part.reason);
    return "";
  }

  enum class Bound : uint8_t { placed, lost, elsewhere };

  // Makes the bundle of some objects; tells whether the target holds their code, and the regions a place in
  // it.
  Bound bind(const BindTarget& target, const std::vector<std::string>& objects, std::string& why) const {
    std::string log = build_.folder + "/bind.log", name = bundle_name(target);
    fs::create_directories(fs::path(name).parent_path());
    std::vector<std::string> words = {build_.compiler_folder + "/rdb-clang", "--rdb-bind=" + target.file.copy,
                                      "-o", name};
    words.insert(words.end(), objects.begin(), objects.end());
    for (size_t i = 1; i < build_.files.size(); ++i)
      if (const std::string& path = build_.files[i].path;
          path != target.file.path && why_not_trusted(path, LastLink::follow).empty())
        words.push_back(path);
    if (run_in(build_.folder, words, log) != 0) {
      why = read_file(log);
      while (why.ends_with('\n'))
        why.pop_back();
      return Bound::elsewhere;
    }
    Bundle bundle(name + ".rdb");
    const descriptors::Descriptors& d = bundle.descriptors();
    for (const descriptors::Region& region : d.regions) {
      bool placed = std::ranges::any_of(
          d.locations, [&](const descriptors::Location& l) { return l.region == region.id; });
      if (placed) return Bound::placed;
      if (region.status != descriptors::Status::unused) {
        why = region.reason;
        return Bound::lost;
      }
    }
    why = "the recorded program was compiled from another source, by another compiler or with other flags "
          "(give them behind --)";
    return Bound::elsewhere;
  }

  const PrintBuild& build_;
  std::vector<PrintSource>& sources_;
  const std::string& condition_;
  std::vector<BindTarget> targets_;
};

} // namespace

PrintBundles build_print(const PrintBuild& build, std::vector<PrintSource>& sources,
                         const std::string& condition) {
  return Builder(build, sources, condition).run();
}

} // namespace rdb::debug
