// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lets clang's own driver turn the command line into jobs, as if it had been called as clang itself (so that
// tool chains, resource directory, configuration files and recorded command lines are clang's), and replaces
// the compile and link jobs by ones that know regions. All other jobs run as they are.
#include "llvm-passes/driver/driver.h"

#include "llvm-passes/driver/debug_sources.h"
#include "llvm-passes/driver/unit.h"
#include "llvm-passes/link/link.h"
#include "rdbtool/base/error.h"

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/Stack.h"
#include "clang/Driver/Compilation.h"
#include "clang/Driver/Driver.h"
#include "clang/Driver/Job.h"
#include "clang/Driver/Tool.h"
#include "clang/Driver/ToolChain.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Frontend/Utils.h"
#include "clang/Options/OptionUtils.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/TargetParser/Host.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::driver {

namespace {

constexpr const char* kClang = RDB_CLANG_DIR "/clang";
constexpr const char* kClangxx = RDB_CLANG_DIR "/clang++";

// Runs `work` in a child, so that a crash of the compiler is a failed job and memory goes with the process.
int in_child(const std::function<int()>& work, std::string* message) {
  llvm::outs().flush();
  fflush(nullptr);
  pid_t child = fork();
  if (child < 0) {
    *message = std::string("fork: ") + strerror(errno);
    return -1;
  }
  if (child == 0) {
    int status = 1;
    try {
      status = work();
    } catch (const Bug& error) {
      fmt::print(stderr, "rdb-clang: bug in rdb, please report: {}\n", error.what());
    } catch (const std::exception& error) {
      fmt::print(stderr, "rdb-clang: error: {}\n", error.what());
    }
    llvm::outs().flush();
    fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    *message = strsignal(WTERMSIG(status));
    return -2;
  }
  return WEXITSTATUS(status);
}

// A compile: clang -cc1 in a child of this process.
class CompileJob : public clang::driver::Command {
public:
  CompileJob(const clang::driver::Command& job, const Installation& installation)
      : Command(job), installation_(installation) {}

  int Execute(llvm::ArrayRef<std::optional<llvm::StringRef>>, std::string* message,
              bool* failed) const override {
    PrintFileNames();
    if (failed) *failed = false;
    std::string ignored;
    return in_child(
        [&] {
          UnitOptions options;
          options.header_directory = installation_.header_directory;
          options.lost_regions = installation_.lost_regions;
          options.command = installation_.command;
          options.edits = installation_.edits;
          return compile_unit(llvm::ArrayRef(getArguments()).drop_front(), getExecutable(), options);
        },
        message ? message : &ignored);
  }

private:
  const Installation& installation_;
};

// A link: the linker first, then the bundle, if the objects carry debug code.
class LinkJob : public clang::driver::Command {
public:
  LinkJob(const clang::driver::Command& job, std::string output, const std::vector<DebugSource>& sources)
      : Command(job), output_(std::move(output)), sources_(sources) {}

  int Execute(llvm::ArrayRef<std::optional<llvm::StringRef>> redirects, std::string* message,
              bool* failed) const override {
    int status = Command::Execute(redirects, message, failed);
    if (status != 0) return status;
    std::vector<std::string> command{getExecutable()};
    for (const char* argument : getArguments())
      command.push_back(argument);
    try {
      DebugObjects objects(sources_);
      LinkOptions options;
      options.debug_objects = objects.paths();
      return after_link(command, output_, options);
    } catch (const Bug& error) {
      fmt::print(stderr, "rdb-clang: bug in rdb, please report: {}\n", error.what());
    } catch (const std::exception& error) {
      fmt::print(stderr, "rdb-clang: error: {}\n", error.what());
    }
    return 1;
  }

private:
  std::string output_;
  const std::vector<DebugSource>& sources_;
};

bool is_cc1(const clang::driver::Command& job) {
  const auto& arguments = job.getArguments();
  return llvm::StringRef(job.getCreator().getName()) == "clang" && !arguments.empty() &&
         llvm::StringRef(arguments[0]) == "-cc1";
}

void replace_jobs(clang::driver::Compilation& compilation, const Installation& installation,
                  const std::vector<DebugSource>& sources) {
  std::vector<std::unique_ptr<clang::driver::Command>> jobs;
  for (const auto& job : compilation.getJobs())
    if (is_cc1(job))
      jobs.push_back(std::make_unique<CompileJob>(job, installation));
    else if (job.getCreator().isLinkJob() && job.getOutputFilenames().size() == 1)
      jobs.push_back(std::make_unique<LinkJob>(job, job.getOutputFilenames()[0], sources));
    else
      jobs.push_back(std::make_unique<clang::driver::Command>(job));
  auto& list = compilation.getJobs();
  list.clear();
  for (auto& job : jobs)
    list.addJob(std::move(job));
}

// The environment variables with which clang lets its output be redirected.
void read_environment(clang::driver::Driver& driver) {
  auto flag = [](const char* name) { return getenv(name) != nullptr; };
  if ((driver.CCPrintOptions = flag("CC_PRINT_OPTIONS")))
    if (const char* file = getenv("CC_PRINT_OPTIONS_FILE")) driver.CCPrintOptionsFilename = file;
}

bool take_edit(llvm::StringRef argument, Installation& installation) {
  if (!argument.consume_front("--rdb-edit=")) return false;
  auto [file, text] = argument.split('=');
  if (file.empty() || text.empty())
    user_error("--rdb-edit needs FILE=TEXT, where TEXT is a file with the text of FILE");
  installation.edits.emplace_back(file, text);
  return true;
}

// Clang does not know this warning; as with its own, the last word counts.
bool take_lost_regions(llvm::StringRef argument, Installation& installation) {
  static const std::map<llvm::StringRef, LostRegions> words = {
      {"--rdb-strict", LostRegions::kRefuse},
      {"-Wrdb-lost-region", LostRegions::kWarn},
      {"-Wno-rdb-lost-region", LostRegions::kIgnore},
      {"-Werror=rdb-lost-region", LostRegions::kRefuse},
      {"-Wno-error=rdb-lost-region", LostRegions::kWarn}};
  auto found = words.find(argument);
  if (found == words.end()) return false;
  installation.lost_regions = found->second;
  return true;
}

bool take_debug_source(llvm::StringRef argument, Installation& installation) {
  if (!argument.consume_front("--rdb-debug-source=")) return false;
  if (argument.empty()) user_error("--rdb-debug-source needs a file");
  installation.debug_sources.push_back(argument.str());
  return true;
}

// rdb-clang --rdb-bind=PROGRAM -o BUNDLE OBJECT... [LIBRARY.so...]: the debug code of objects that a program
// was linked from, for that program.
int bind_main(llvm::ArrayRef<const char*> arguments) {
  std::string program, bundle;
  std::vector<std::string> objects, libraries;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (argument.consume_front("--rdb-bind="))
      program = argument.str();
    else if (argument == "-o" && i + 1 < arguments.size())
      bundle = arguments[++i];
    else if (argument.starts_with("-"))
      user_error("--rdb-bind does not take '{}'", argument.str());
    else
      (argument.contains(".so") ? libraries : objects).push_back(argument.str());
  }
  if (bundle.empty() || objects.empty()) user_error("--rdb-bind=PROGRAM needs -o BUNDLE and an object");
  bind_objects(program, objects, libraries, bundle);
  return 0;
}

} // namespace

Installation find_installation() {
  static int anchor;
  llvm::SmallString<256> directory(llvm::sys::fs::getMainExecutable("rdb-clang", &anchor));
  llvm::sys::path::remove_filename(directory);
  llvm::sys::path::append(directory, "..", "lib", "rdb", "include");
  llvm::sys::path::remove_dots(directory, /*remove_dot_dot=*/true);
  Installation installation;
  installation.header_directory = std::string(directory);
  return installation;
}

int driver_main(int argc, char** argv) {
  clang::noteBottomOfStack();
  llvm::InitLLVM init(argc, argv);
  if (llvm::sys::Process::FixupStandardFileDescriptors()) return 1;
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  llvm::InitializeAllAsmParsers();
  Installation installation = find_installation();

  if (argc > 1 && llvm::StringRef(argv[1]).starts_with("--rdb-bind="))
    return bind_main({argv + 1, argv + argc});

  // 1. The command line, as clang would see it under its own name.
  for (int i = 0; i < argc; ++i)
    installation.command += fmt::format("{}{}", i ? " " : "", argv[i]);
  bool cxx = llvm::sys::path::filename(argv[0]).ends_with("++");
  llvm::SmallVector<const char*, 256> arguments(argv, argv + argc);
  arguments[0] = cxx ? kClangxx : kClang;
  if (argc > 1 && llvm::StringRef(argv[1]).starts_with("-cc1")) {
    execv(kClang, argv);
    user_error("{}: {}", kClang, strerror(errno));
  }
  llvm::BumpPtrAllocator allocator;
  auto files = llvm::vfs::getRealFileSystem();
  if (auto error =
          clang::driver::expandResponseFiles(arguments, /*ClangCLMode=*/false, allocator, files.get()))
    user_error("{}", llvm::toString(std::move(error)));
  llvm::StringSet<> saved;
  if (const char* edits = getenv("CCC_OVERRIDE_OPTIONS"))
    clang::driver::applyOverrideOptions(arguments, edits, saved, "CCC_OVERRIDE_OPTIONS", &llvm::errs());
  llvm::erase_if(arguments, [&](const char* argument) {
    return take_lost_regions(argument, installation) || take_edit(argument, installation) ||
           take_debug_source(argument, installation);
  });
  if (cxx) arguments.insert(arguments.begin() + 1, "--driver-mode=g++");

  // 2. Clang's driver.
  auto options = clang::CreateAndPopulateDiagOpts(arguments);
  auto* printer = new clang::TextDiagnosticPrinter(llvm::errs(), *options);
  printer->setPrefix(cxx ? "rdb-clang++" : "rdb-clang");
  auto ids = clang::DiagnosticIDs::create();
  clang::DiagnosticsEngine diagnostics(ids, *options, printer);
  clang::ProcessWarningOptions(diagnostics, *options, *files, /*ReportDiags=*/false);
  clang::driver::Driver driver(kClang, llvm::sys::getDefaultTargetTriple(), diagnostics,
                               "clang LLVM compiler", files);
  driver.setTargetAndMode({"", cxx ? "clang++" : "clang", cxx ? "--driver-mode=g++" : nullptr, false});
  driver.ResourceDir = clang::GetResourcesPath(kClang);
  read_environment(driver);
  std::unique_ptr<clang::driver::Compilation> compilation(driver.BuildCompilation(arguments));
  if (!compilation) return 1;
  int result = 1;
  if (compilation->containsError()) {
    diagnostics.getClient()->finish();
    return result;
  }

  // 3. Our jobs in place of clang's.
  std::vector<DebugSource> sources;
  sources.reserve(installation.debug_sources.size());
  for (const std::string& file : installation.debug_sources)
    sources.push_back(debug_source(file, compilation->getInputArgs(), cxx));
  replace_jobs(*compilation, installation, sources);
  llvm::SmallVector<std::pair<int, const clang::driver::Command*>, 4> failing;
  result = driver.ExecuteCompilation(*compilation, failing);
  for (const auto& [status, job] : failing)
    if (!result) result = status;
  diagnostics.getClient()->finish();
  return result < 0 ? 1 : result;
}

} // namespace rdb::driver
