// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb print: a print statement added to a run that is already over. Compiles a region for it, replays the
// recording with that in a process of its own, and shows what it printed as it comes.
#include "rdbtool/base/error.h"
#include "rdbtool/base/exec_words.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/debug/print_build.h"
#include "rdbtool/guest/self.h"
#include "rdbtool/trace/reader.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::cli {
namespace {

namespace fs = std::filesystem;

struct PrintOptions {
  std::vector<std::string> words; // [TRACE] PLACE WHAT ... and, from the first that begins with a dash, flags
  std::string code, condition;
  std::string from, to;
  uint64_t max_hits = UINT64_MAX;
  bool changes = false, json = false, csv = false;
};

class TemporaryFolder {
public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "rdb-print-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) user_error("print: {}: {}", path_, std::strerror(errno));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

struct Wanted {
  std::string trace;
  std::vector<debug::PrintRequest> requests;
  std::vector<std::string> flags;
};

// [TRACE] PLACE WHAT [PLACE WHAT]... [FLAGS]; with --code, [TRACE] PLACE [FLAGS].
Wanted parse_words(const PrintOptions& options) {
  Wanted wanted;
  std::vector<std::string> words;
  size_t step = options.code.empty() ? 2 : 1;
  for (const std::string& word : options.words) {
    if (words.empty() && wanted.trace.empty() && !debug::is_place(word) && options.words.size() > step) {
      wanted.trace = word;
      continue;
    }
    // An expression may begin with a dash, a place never does.
    if (!wanted.flags.empty() || (words.size() % step == 0 && word.starts_with('-')))
      wanted.flags.push_back(word);
    else
      words.push_back(word);
  }
  if (words.empty() || words.size() % step != 0)
    user_error("print: nothing to print{}{}; it takes a place and what to print, as in 'rdb print list.c:42 "
               "\"n, p->len\"'",
               words.empty() ? "" : " at ", words.empty() ? "" : words.back());
  size_t at = 0;
  for (; at < words.size(); at += step) {
    wanted.requests.push_back(
        debug::parse_place(words[at], options.code.empty() ? words[at + 1] : options.code));
    wanted.requests.back().code = !options.code.empty();
  }
  return wanted;
}

// Where the source is: as named, or beside the program.
std::string find_source(const std::string& name, const std::string& program) {
  for (const fs::path& path : {fs::path(name), fs::path(program).parent_path() / name}) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) return fs::canonical(path).string();
  }
  user_error("print: there is no file '{}' here nor beside {}", name, program);
}

// The program's copy in the recording, and the libraries that it loaded.
void find_program(const trace::TraceReader& trace, debug::PrintBuild& build) {
  std::set<std::string> libraries;
  trace::InputReader inputs = trace.inputs(trace.processes().front());
  while (const trace::Input* input = inputs.next()) {
    if (input->kind() == trace::InputKind::kStart)
      build.program_path = input->as<trace::StartInput>().program;
    if (input->kind() != trace::InputKind::kMap) continue;
    const auto& map = input->as<trace::MapInput>();
    if (!map.has_file) continue;
    std::string path(map.path);
    if (path == build.program_path)
      build.program = fs::absolute(trace.files().path_of(map.file));
    else if (path.find(".so") != std::string::npos && fs::exists(path))
      libraries.insert(path);
  }
  if (build.program.empty()) user_error("print: {}: holds no program", trace.path());
  build.libraries.assign(libraries.begin(), libraries.end());
}

std::vector<debug::PrintSource> by_file(const std::vector<debug::PrintRequest>& requests,
                                        const std::string& program) {
  std::map<std::string, debug::PrintSource> files;
  for (const debug::PrintRequest& request : requests) {
    std::string path = find_source(request.file, program);
    files[path].path = path;
    files[path].requests.push_back(request);
  }
  std::vector<debug::PrintSource> sources;
  sources.reserve(files.size());
  for (auto& [path, source] : files)
    sources.push_back(std::move(source));
  return sources;
}

// Shows hits as they come.
class Printer {
public:
  Printer(const PrintOptions& options, const std::vector<debug::PrintSource>& sources)
      : options_(options), sources_(sources), style_(options.json  ? debug::HitStyle::json
                                                     : options.csv ? debug::HitStyle::csv
                                                                   : debug::HitStyle::plain) {}

  void line(const std::string& text) {
    std::optional<debug::Hit> hit = debug::parse_hit(text);
    if (!hit) {
      fmt::print("{}\n", text);
      return;
    }
    std::string place = place_of(*hit);
    if (options_.changes && !changed(*hit, place)) return;
    if (counts_[place]++ >= options_.max_hits) return;
    if (options_.csv && !header_ && !hit->fields.empty()) {
      fmt::print("time,thread,place");
      for (const auto& [name, value] : hit->fields)
        fmt::print(",{}", name.find(',') == std::string::npos ? name : "\"" + name + "\"");
      fmt::print("\n");
      header_ = true;
    }
    fmt::print("{}\n", debug::render_hit(*hit, place, style_));
    shown_ = true;
  }

  bool shown() const { return shown_; }

private:
  std::string place_of(const debug::Hit& hit) const {
    for (const debug::PrintSource& source : sources_) {
      if (fs::path(source.path).filename() != fs::path(hit.file).filename()) continue;
      auto region = source.edited.regions.find(hit.line);
      if (region != source.edited.regions.end())
        return fmt::format("{}:{}", source.requests.front().file, region->second);
    }
    return fmt::format("{}:{}", hit.file, hit.line);
  }

  bool changed(const debug::Hit& hit, const std::string& place) {
    std::string values = hit.text;
    for (const auto& [name, value] : hit.fields)
      values += value + '\x1f';
    auto [last, fresh] = last_.try_emplace(place, values);
    if (fresh) return true;
    if (last->second == values) return false;
    last->second = values;
    return true;
  }

  const PrintOptions& options_;
  const std::vector<debug::PrintSource>& sources_;
  debug::HitStyle style_;
  std::map<std::string, std::string> last_;
  std::map<std::string, uint64_t> counts_;
  bool header_ = false;
  bool shown_ = false;
};

// Replays in a child; its debug output comes through a pipe, its messages go where ours go. The status of rdb
// itself, 0 if it was the program's.
int replay(const std::vector<std::string>& words, Printer& printer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) user_error("print: {}", std::strerror(errno));
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    std::vector<char*> argv = exec_words(words);
    execv("/proc/self/exe", argv.data());
    _exit(kExitFailure);
  }
  close(ends[1]);
  if (child < 0) user_error("print: {}", std::strerror(errno));
  std::unique_ptr<FILE, int (*)(FILE*)> input(fdopen(ends[0], "r"), std::fclose);
  char* text = nullptr;
  size_t room = 0;
  for (ssize_t size; (size = getline(&text, &room, input.get())) > 0;) {
    if (text[size - 1] == '\n') --size;
    printer.line({text, static_cast<size_t>(size)});
  }
  std::free(text);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == kExitFailure ? kExitFailure : 0;
}

int run_print(const PrintOptions& options) {
  Wanted wanted = parse_words(options);
  if (options.json && options.csv) user_error("print: --json or --csv, not both");
  trace::TraceReader trace(wanted.trace);
  if (trace.processes().empty()) user_error("{}: holds no process", trace.path());
  TemporaryFolder folder;
  debug::PrintBuild build;
  build.compiler_folder = fs::path(guest::self().program).parent_path();
  if (!fs::exists(build.compiler_folder + "/rdb-clang"))
    user_error("print: rdb-clang is not installed beside {}", guest::self().program);
  build.folder = folder.path();
  build.user_flags = wanted.flags;
  find_program(trace, build);
  std::vector<debug::PrintSource> sources = by_file(wanted.requests, build.program_path);
  std::string bundle = debug::build_print(build, sources, options.condition);

  std::vector<std::string> words = guest::self().words;
  words.insert(words.end(), {"replay", "--quiet", "--no-report", "--prefix", "-m", bundle});
  if (!options.from.empty()) words.insert(words.end(), {"--from", options.from});
  if (!options.to.empty()) words.insert(words.end(), {"--until", options.to});
  // With a condition a hit may print nothing; then the lines are counted here.
  if (options.max_hits != UINT64_MAX && options.condition.empty())
    words.insert(words.end(), {"--max-hits", std::to_string(options.max_hits)});
  words.push_back(trace.path());
  Printer printer(options, sources);
  int status = replay(words, printer);
  if (!printer.shown() && status == 0)
    fmt::print(stderr, "rdb: nothing was printed: the place was not reached\n");
  return status;
}

} // namespace

Action setup_print(CLI::App& app) {
  auto options = std::make_shared<PrintOptions>();
  app.add_option(
      "WORDS", options->words,
      "[TRACE] FILE:LINE WHAT [FILE:LINE WHAT]... [-- FLAGS]: what to print just before that line runs; "
      "expressions separated by commas, or a format and its arguments; the compiler flags of the file if "
      "rdb cannot find them");
  app.add_option("--if", options->condition, "Print only where this is true");
  app.add_option("--code", options->code, "Run these statements instead of printing expressions");
  app.add_flag("--changes", options->changes, "Print only what differs from the time before");
  app.add_option("--from", options->from, "From this time on");
  app.add_option("--to", options->to, "Up to this time");
  app.add_option("--max-hits", options->max_hits, "At most this many lines at each place");
  app.add_flag("--json", options->json, "One JSON object a line");
  app.add_flag("--csv", options->csv, "A table, as CSV");
  app.footer("Examples:  rdb print list.c:42 'n, p->len'\n"
             "           rdb print list.c:42 '\"%d of %d\", i, n' --if 'i > 100'\n"
             "           rdb print calc-3 main.cc:7 'v.size(), name' parse.cc:90 'token' --changes");
  return [options] { return run_print(*options); };
}

} // namespace rdb::cli
