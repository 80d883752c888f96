// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb print: a print statement added to a run that is already over. Compiles a region for it and replays the
// recording with that; where the code cannot be compiled again, gdb looks at every hit by the debug
// information.
#include "rdbtool/base/error.h"
#include "rdbtool/base/exec_words.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/temporary_folder.h"
#include "rdbtool/base/trusted_file.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/gdb_process.h"
#include "rdbtool/cli/print_hits.h"
#include "rdbtool/cli/print_list.h"
#include "rdbtool/cli/print_with_gdb.h"
#include "rdbtool/cli/trace_text.h"
#include "rdbtool/debug/print/print_build.h"
#include "rdbtool/debug/print/source_checksum.h"
#include "rdbtool/debug/regions/program_file.h"
#include "rdbtool/guest/host/own_executable.h"
#include "rdbtool/trace/damage.h"
#include "rdbtool/trace/programs.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <unistd.h>

namespace rdb::cli {
namespace {

namespace fs = std::filesystem;

struct PrintOptions {
  std::vector<std::string> words; // [TRACE] PLACE WHAT ... and, from the first that begins with a dash, flags
  std::string code, condition, list, process;
  std::string from, to;
  uint64_t max_hits = UINT64_MAX;
  bool changes = false, json = false, csv = false;
};

struct PrintCommand {
  std::string trace;
  std::vector<debug::PrintRequest> requests;
  std::vector<std::string> flags;
};

// [TRACE] PLACE WHAT [PLACE WHAT]... [FLAGS]; with --code, [TRACE] PLACE [FLAGS].
PrintCommand parse_words(const PrintOptions& options) {
  PrintCommand wanted;
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

// Where the source is: as named, or beside the program. Empty if it is not there.
std::string find_source(const std::string& name, const std::string& program) {
  for (const fs::path& path : {fs::path(name), fs::path(program).parent_path() / name}) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) return fs::canonical(path).string();
  }
  return "";
}

// The copies in the recording of the program and the libraries that it loaded.
std::vector<debug::ProgramCopy> recorded_files(const trace::TraceReader& trace,
                                               const trace::ProcessInfo& process) {
  std::string program;
  std::vector<debug::ProgramCopy> files(1);
  std::set<std::string> seen;
  trace::InputReader inputs = trace.inputs(process);
  while (const trace::Input* input = inputs.next()) {
    if (input->kind() == trace::InputKind::start) program = input->as<trace::StartInput>().program;
    if (input->kind() != trace::InputKind::map) continue;
    const auto& map = input->as<trace::MapInput>();
    if (map.op != trace::MapOp::map || !map.has_file) continue;
    debug::ProgramCopy file{std::string(map.path), fs::absolute(trace.files().path_of(map.file))};
    if (file.path == program)
      files[0] = file;
    else if (file.path.find(".so") != std::string::npos && seen.insert(file.path).second)
      files.push_back(file);
  }
  if (files[0].copy.empty()) {
    std::string damage = trace::find_damage(trace, process);
    user_error("print: {}: {}", trace.path(), damage.empty() ? "holds no program" : damage);
  }
  return files;
}

// The debug information of what was recorded is about another version of this source.
bool has_changed(const std::string& source, const std::string& name,
                 const std::vector<debug::ProgramCopy>& files) {
  std::ifstream stream(source, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  // A program with regions was compiled from the text without them.
  if (text.find("rdb_begin") != std::string::npos) return false;
  for (const debug::ProgramCopy& file : files) {
    try {
      debug::ProgramFile program(file.copy);
      if (auto sum = debug::recorded_checksum(program.elf(), name)) return *sum != debug::md5(text);
    } catch (const elf::Error&) {
      continue; // what cannot be read tells nothing
    }
  }
  return false;
}

class Print {
public:
  explicit Print(const PrintOptions& options)
      : options_(options), wanted_(parse_words(options)), trace_(wanted_.trace) {
    if (trace_.processes().empty()) user_error("{}: holds no process", trace_.path());
    process_ = trace::program_named(trace_, options.process);
    trace::check_files(trace_, process_);
    files_ = recorded_files(trace_, process_);
  }

  int run() {
    std::string why = unfit();
    if (why.empty()) {
      debug::PrintBuild build{compiler_folder(), folder_.path(), files_, wanted_.flags};
      std::vector<debug::PrintSource> sources = by_file();
      debug::PrintBundles bundles = debug::build_print(build, sources, options_.condition);
      if (bundles.why_not.empty()) return print_by_regions(bundles.paths, sources);
      why = bundles.why_not;
    }
    for (const debug::PrintRequest& request : wanted_.requests)
      if (request.code) user_error("print: {}; --code needs code that rdb-clang can compile again", why);
    check_sources();
    if (why != kSpots) print_error("rdb: print: {}; going by the debug information instead\n", why);
    HitPrinter printer(hit_options(), [&](const debug::Hit& hit) -> const debug::PrintRequest* {
      for (const debug::PrintRequest& request : wanted_.requests)
        if (hit.line == request.line && hit.file == (hit.line == 0 ? request.spot : request.file))
          return &request;
      return nullptr;
    });
    return finish(printer, printer.run([&] {
      return print_by_debug_info({trace_.path(), options_.process, files_, wanted_.requests,
                                  options_.condition, options_.from, options_.to, max_hits()});
    }));
  }

private:
  static constexpr const char* kSpots = "functions and addresses are found by symbols";

  static std::string compiler_folder() { return fs::path(guest::self().program).parent_path(); }

  // Why it cannot even be tried to compile the sources again.
  std::string unfit() const {
    for (const debug::PrintRequest& request : wanted_.requests) {
      if (!request.spot.empty()) return kSpots;
      if (find_source(request.file, files_[0].path).empty())
        return fmt::format("there is no file '{}' here nor beside {}", request.file, files_[0].path);
      // What is compiled is run.
      if (std::string why = why_not_trusted(find_source(request.file, files_[0].path)); !why.empty())
        return why;
    }
    std::string compiler = compiler_folder() + "/rdb-clang";
    if (!fs::exists(compiler))
      return fmt::format("rdb-clang is not installed beside {}", guest::self().program);
    return why_not_trusted_as(compiler, guest::self().program);
  }

  std::vector<debug::PrintSource> by_file() const {
    std::map<std::string, debug::PrintSource> files;
    for (const debug::PrintRequest& request : wanted_.requests) {
      std::string path = find_source(request.file, files_[0].path);
      files[path].path = path;
      files[path].requests.push_back(request);
    }
    std::vector<debug::PrintSource> sources;
    sources.reserve(files.size());
    for (auto& [path, source] : files)
      sources.push_back(std::move(source));
    return sources;
  }

  // The lines of debug information are those of the source that was compiled.
  void check_sources() const {
    for (const debug::PrintRequest& request : wanted_.requests) {
      std::string source = find_source(request.file, files_[0].path);
      if (!source.empty() && has_changed(source, request.file, files_))
        user_error("print: {} has changed since the recorded program was built (its debug information holds "
                   "another checksum); go back to the source that was recorded",
                   request.file);
    }
  }

  HitOptions hit_options() const {
    HitOptions hits{options_.changes, options_.max_hits, debug::HitStyle::plain};
    if (options_.json) hits.style = debug::HitStyle::json;
    if (options_.csv) hits.style = debug::HitStyle::csv;
    return hits;
  }

  // Where every hit is shown, the process that finds them need not go on.
  uint64_t max_hits() const {
    return options_.changes || !options_.condition.empty() ? UINT64_MAX : options_.max_hits;
  }

  int print_by_regions(const std::vector<std::string>& bundles,
                       const std::vector<debug::PrintSource>& sources) const {
    std::vector<std::string> words = guest::self().words;
    words.insert(words.end(),
                 {"replay", "--quiet", "--no-report", "--no-status", "--prefix", "--retry-regions"});
    for (const std::string& bundle : bundles)
      words.insert(words.end(), {"-m", bundle});
    words.insert(words.end(), {"-p", process_.name});
    if (!options_.from.empty()) words.insert(words.end(), {"--from", options_.from});
    if (!options_.to.empty()) words.insert(words.end(), {"--until", options_.to});
    if (max_hits() != UINT64_MAX) words.insert(words.end(), {"--max-hits", std::to_string(max_hits())});
    words.push_back(trace_.path());
    HitPrinter printer(hit_options(), [&](const debug::Hit& hit) { return request_of(hit, sources); });
    int status = printer.run([&words] {
      std::vector<char*> argv = exec_words(words);
      execv("/proc/self/exe", argv.data());
      return kExitFailure;
    });
    return finish(printer, status);
  }

  // Regions stand at lines of the edited text.
  static const debug::PrintRequest* request_of(const debug::Hit& hit,
                                               const std::vector<debug::PrintSource>& sources) {
    for (const debug::PrintSource& source : sources) {
      if (fs::path(source.path).filename() != fs::path(hit.file).filename()) continue;
      auto region = source.edited.regions.find(hit.line);
      if (region != source.edited.regions.end()) return &source.requests[region->second];
    }
    return nullptr;
  }

  static int finish(const HitPrinter& printer, int status) {
    if (!printer.shown() && status == 0) print_error("rdb: nothing was printed: the place was not reached\n");
    return status;
  }

  const PrintOptions& options_;
  PrintCommand wanted_;
  trace::TraceReader trace_;
  trace::ProcessInfo process_;
  std::vector<debug::ProgramCopy> files_;
  TemporaryFolder folder_{"rdb-print"};
};

int run_print(const PrintOptions& options) {
  if (options.json && options.csv) user_error("print: --json or --csv, not both");
  if (options.list.empty()) return Print(options).run();
  if (options.words.size() > 1) user_error("print: --list takes a trace and nothing else");
  trace::TraceReader trace(options.words.empty() ? "" : options.words[0]);
  if (trace.processes().empty()) user_error("{}: holds no process", trace.path());
  return list_lines(trace, trace::program_named(trace, options.process), debug::parse_range(options.list),
                    options.json  ? debug::HitStyle::json
                    : options.csv ? debug::HitStyle::csv
                                  : debug::HitStyle::plain);
}

} // namespace

Action setup_print(CommandOptions& command) {
  auto options = std::make_shared<PrintOptions>();
  command.option(
      "WORDS", options->words,
      "[TRACE] PLACE WHAT [PLACE WHAT]... [-- FLAGS]: what to print just before FILE:LINE, @FUNCTION or "
      "*0xADDRESS runs; expressions separated by commas, or a format and its arguments; the compiler flags "
      "of "
      "the file if rdb cannot find them");
  command.option(
      "--list", options->list,
      "Show which lines of FILE:FIRST-LAST have code, how often each was reached, and which variables "
      "there are (needs -g)");
  command.process(options->process);
  command.option("--if", options->condition, "Print only where this is true");
  command.option("--code", options->code, "Run these statements instead of printing expressions");
  command.flag("--changes", options->changes, "Print only what differs from the time before");
  command.option("--from", options->from, "From this time on");
  command.option("--to", options->to, "Up to this time");
  command.option("--max-hits", options->max_hits, "At most this many lines at each place");
  command.flag("--json", options->json, "One JSON object a line");
  command.flag("--csv", options->csv, "A table, as CSV");
  command.footer("Examples:  rdb print list.c:42 'n, p->len'\n"
                 "           rdb print list.c:42 '\"%d of %d\", i, n' --if 'i > 100'\n"
                 "           rdb print --list list.c:40-60\n"
                 "           rdb print @strlen '(char*)$rdi' --max-hits 10\n"
                 "           rdb print calc-3 main.cc:7 'v.size(), name' parse.cc:90 'token' --changes");
  return [options] { return run_print(*options); };
}

} // namespace rdb::cli
