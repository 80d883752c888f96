// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The three compiles of a unit with regions, in their order: the program itself (its object is what the user
// gets, whatever the other two find), the debug code, the descriptors.
#include "llvm-passes/driver/unit.h"

#include "codegen-patch/placement.h"
#include "codegen-patch/signatures.h"
#include "descriptors/payload.h"
#include "llvm-passes/driver/dependencies.h"
#include "llvm-passes/driver/frontend.h"
#include "llvm-passes/driver/messages.h"
#include "llvm-passes/driver/object_check.h"
#include "llvm-passes/driver/twin.h"
#include "llvm-passes/driver/unit_payload.h"
#include "llvm-passes/extractor/debug_module.h"
#include "llvm-passes/extractor/declarations.h"
#include "llvm-passes/extractor/outline.h"
#include "llvm-passes/extractor/region_rules.h"
#include "rdbtool/base/error.h"

#include "clang/Basic/SourceManager.h"
#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/MultiplexConsumer.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace rdb::driver {

namespace {

using extractor::RegionFiles;
using extractor::ViewKind;
using Level = clang::DiagnosticsEngine::Level;

constexpr llvm::StringLiteral kHashOfRegions = "/* debug regions ";

// What the first compile tells about the unit.
struct UnitFacts {
  bool makes_object = false;
  bool preprocesses = false; // -E
  bool preprocessed = false; // its input is what -E printed, for example by -save-temps
  std::string output;
  std::string source;
  unsigned optimisation = 0;
  bool typed = false; // the optimiser relies on types of accesses
  bool lto = false;
  bool sanitized = false; // by one that keeps books about memory
  bool libcxx = false;
  bool precompiled = false;
  extractor::Dialect dialect;
  clang::DependencyOutputOptions dependencies;
};

UnitFacts facts_of(clang::CompilerInstance& compiler) {
  UnitFacts facts;
  const auto& frontend = compiler.getFrontendOpts();
  const auto& language = compiler.getLangOpts();
  const auto& code = compiler.getCodeGenOpts();
  facts.makes_object = frontend.ProgramAction == clang::frontend::EmitObj && !frontend.Inputs.empty() &&
                       !frontend.Inputs[0].isPreprocessed() &&
                       frontend.Inputs[0].getKind().getFormat() == clang::InputKind::Source &&
                       frontend.Inputs[0].getKind().getLanguage() != clang::Language::Asm;
  facts.preprocessed = !frontend.Inputs.empty() && frontend.Inputs[0].isPreprocessed();
  facts.preprocesses = frontend.ProgramAction == clang::frontend::PrintPreprocessedInput;
  facts.output = frontend.OutputFile;
  if (!frontend.Inputs.empty() && frontend.Inputs[0].isFile())
    facts.source = frontend.Inputs[0].getFile().str();
  facts.optimisation = code.OptimizationLevel;
  facts.typed = code.OptimizationLevel > 0 && !code.RelaxedAliasing;
  facts.lto = code.PrepareForLTO || code.PrepareForThinLTO;
  facts.sanitized =
      language.Sanitize.hasOneOf(clang::SanitizerKind::Address | clang::SanitizerKind::Thread |
                                 clang::SanitizerKind::Memory | clang::SanitizerKind::HWAddress);
  facts.libcxx = language.CPlusPlus && compiler.getHeaderSearchOpts().UseLibcxx;
  facts.precompiled = frontend.ProgramAction == clang::frontend::GeneratePCH ||
                      frontend.ProgramAction == clang::frontend::GenerateModule ||
                      frontend.ProgramAction == clang::frontend::GenerateModuleInterface;
  facts.dependencies = compiler.getDependencyOutputOpts();
  facts.dialect.cxx = language.CPlusPlus;
  facts.dialect.exceptions = language.CXXExceptions;
  return facts;
}

// A file that is removed again.
class TemporaryFile {
public:
  TemporaryFile() {
    llvm::SmallString<128> path;
    if (auto error = llvm::sys::fs::createTemporaryFile("rdb", "o", path))
      user_error("cannot make a temporary file: {}", error.message());
    path_ = std::string(path);
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }
  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path_);
    if (!buffer) user_error("{}: {}", path_, buffer.getError().message());
    return (*buffer)->getBuffer().str();
  }

private:
  std::string path_;
};

// Writes an object, with a consumer of ours that sees declarations first.
class ObjectAction : public clang::EmitObjAction {
public:
  ObjectAction(const RegionFiles& files, ViewKind kind, extractor::Captures& captures)
      : files_(files), kind_(kind), captures_(captures) {}

protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef file) override {
    auto code = EmitObjAction::CreateASTConsumer(compiler, file);
    if (!code) return nullptr;
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(extractor::make_declaration_consumer(compiler, files_, kind_, captures_));
    consumers.push_back(std::move(code));
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }

private:
  const RegionFiles& files_;
  ViewKind kind_;
  extractor::Captures& captures_;
};

// Reads the program, and tells what its lambdas capture.
class CapturesAction : public clang::ASTFrontendAction {
public:
  CapturesAction(const RegionFiles& files, extractor::Captures& captures)
      : files_(files), captures_(captures) {}

protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    return extractor::make_capture_consumer(compiler, files_, captures_);
  }

private:
  const RegionFiles& files_;
  extractor::Captures& captures_;
};

class ModulePass : public llvm::PassInfoMixin<ModulePass> {
public:
  explicit ModulePass(std::function<void(llvm::Module&)> work) : work_(std::move(work)) {}
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    work_(module);
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  std::function<void(llvm::Module&)> work_;
};

// The second and third compile: side outputs are the first one's, and so are the warnings.
std::vector<const char*> without_side_outputs(llvm::ArrayRef<const char*> arguments) {
  static const std::set<llvm::StringRef> with_value = {
      "-dependency-file",  "-serialize-diagnostic-file", "-stats-file",
      "-opt-record-file",  "-header-include-file",       "-dependency-dot",
      "-stack-usage-file", "-split-dwarf-file",          "-split-dwarf-output"};
  std::vector<const char*> result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (with_value.contains(argument)) {
      ++i;
      continue;
    }
    if (argument.starts_with("-ftime-trace") || argument == "-print-stats" ||
        argument.starts_with("-stats-file=") || argument == "-H" || argument == "-v" ||
        argument.starts_with("-ftime-report") || argument.starts_with("-stack-usage-file="))
      continue;
    result.push_back(arguments[i]);
  }
  return result;
}

void make_quiet(clang::CompilerInstance& compiler, const std::string& output) {
  compiler.getDiagnostics().setIgnoreAllWarnings(true);
  compiler.getFrontendOpts().OutputFile = output;
  compiler.getFrontendOpts().ProgramAction = clang::frontend::EmitObj;
  compiler.getFrontendOpts().StatsFile.clear();
  compiler.getDependencyOutputOpts() = clang::DependencyOutputOptions();
  auto& code = compiler.getCodeGenOpts();
  code.SplitDwarfFile.clear();
  code.SplitDwarfOutput.clear();
  code.OptRecordFile.clear();
  code.StackUsageOutput.clear();
  code.OptimizationRemark = code.OptimizationRemarkMissed = code.OptimizationRemarkAnalysis = {};
  if (!code.CoverageNotesFile.empty()) code.CoverageNotesFile = "/dev/null";
  code.DiscardValueNames = false;
}

// Swallows the messages of an attempt and keeps the names that it did not know, with the region they are in.
class UnknownNames : public clang::DiagnosticConsumer {
public:
  explicit UnknownNames(const RegionFiles& files) : files_(files) {}
  const std::vector<std::pair<std::string, unsigned>>& found() const { return found_; }
  bool IncludeInDiagnosticCounts() const override { return false; }

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < clang::DiagnosticsEngine::Error || !info.hasSourceManager()) return;
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    llvm::StringRef message = text;
    if (!message.contains("undeclared")) return;
    message = message.substr(message.find('\'') + 1);
    unsigned region =
        extractor::Places(files_, info.getSourceManager(), ViewKind::kModule).find(info.getLocation()).region;
    if (region != 0) found_.push_back({message.substr(0, message.find('\'')).str(), region});
  }

private:
  const RegionFiles& files_;
  std::vector<std::pair<std::string, unsigned>> found_;
};

class UnitCompile {
public:
  UnitCompile(llvm::ArrayRef<const char*> arguments, const char* program, const UnitOptions& options)
      : arguments_(arguments), program_(program), options_(options), files_(options.header_directory) {}

  int run() {
    read_edits();
    // Mistakes with markers first: without them removed, clang's words would only confuse. The input is last.
    if (!arguments_.empty()) (void)files_.file_system(ViewKind::kStripped)->status(arguments_.back());
    if (report_text_errors()) return 1;
    if (!compile_program()) return 1;
    if (facts_.preprocessed) warn_of_lost_regions();
    if (files_.empty()) return 0;
    if (report_text_errors()) return 1;
    if (refuse_what_is_not_done()) return 1;
    if (facts_.preprocesses) add_hash_of_regions();
    // Into /dev/null, as scripts do that only want to know whether a file compiles.
    if (!facts_.makes_object || !llvm::sys::fs::is_regular_file(facts_.output)) return 0;
    files_.set_dialect(facts_.dialect);
    ObjectFile program(facts_.output);
    TemporaryFile debug_object;
    if (!compile_debug_code(program, debug_object.path())) return 1;
    add_dependencies(facts_.dependencies, dependencies_->getDependencies());
    return describe(program, debug_object);
  }

private:
  void read_edits() {
    for (const auto& [path, text_path] : options_.edits) {
      auto text = llvm::MemoryBuffer::getFile(text_path);
      if (!text) user_error("--rdb-edit: {}: {}", text_path, text.getError().message());
      files_.edit(path, (*text)->getBuffer().str());
    }
  }

  FrontendRun frontend_run(ViewKind kind) {
    FrontendRun run;
    run.arguments = arguments_;
    run.program = program_;
    run.files = files_.file_system(kind);
    run.header_directory = options_.header_directory;
    return run;
  }

  bool compile_program() {
    FrontendRun run = frontend_run(ViewKind::kStripped);
    run.configure = [this](clang::CompilerInstance& compiler) {
      facts_ = facts_of(compiler);
      message_options_ = compiler.getDiagnosticOpts();
      map_messages(compiler, files_, ViewKind::kStripped);
      compiler.getCodeGenOpts().PassBuilderCallbacks.push_back([this](llvm::PassBuilder& builder) {
        if (files_.empty()) return;
        inlining_.attach(builder);
        signatures_.attach(builder);
      });
    };
    return run_frontend(run);
  }

  void warn_of_lost_regions() const {
    auto text = llvm::MemoryBuffer::getFile(facts_.source);
    if (!text || !(*text)->getBuffer().take_back(64).contains(kHashOfRegions) ||
        options_.lost_regions == LostRegions::kIgnore || message_options_.IgnoreWarnings)
      return;
    fmt::print(stderr,
               "{}: warning: debug regions do not go through preprocessed text, as -save-temps makes it: the "
               "object has none [-Wrdb-lost-region]\n",
               facts_.source);
  }

  // Whoever keeps results by preprocessed text must not take one of other debug code.
  void add_hash_of_regions() const {
    std::string text;
    for (const extractor::RegionFile& file : files_.files())
      if (file.text != file.stripped) text += file.text;
    if (text.empty()) return;
    std::string line = fmt::format("{}{:016x} */\n", kHashOfRegions.str(), llvm::xxh3_64bits(text));
    if (facts_.output.empty() || facts_.output == "-")
      llvm::outs() << line;
    else
      std::ofstream(facts_.output, std::ios::app) << line;
  }

  bool report_text_errors() {
    unsigned errors = 0;
    for (const extractor::RegionFile& file : files_.files())
      for (const source::Diagnostic& diagnostic : file.scan.diagnostics) {
        if (errors++ == 0) message_options_ = parsed_message_options();
        print_message(Level::Error, file, diagnostic.line, diagnostic.column, diagnostic.message,
                      message_options_);
      }
    if (errors > 0) llvm::errs() << fmt::format("{} error{} generated.\n", errors, errors == 1 ? "" : "s");
    return errors > 0;
  }

  clang::DiagnosticOptions parsed_message_options() const {
    clang::DiagnosticOptions ignored;
    clang::DiagnosticsEngine diagnostics(clang::DiagnosticIDs::create(), ignored,
                                         new clang::IgnoringDiagConsumer);
    clang::CompilerInvocation invocation;
    clang::CompilerInvocation::CreateFromArgs(invocation, arguments_, diagnostics, program_);
    return invocation.getDiagnosticOpts();
  }

  bool refuse_what_is_not_done() {
    const char* reason =
        facts_.lto           ? "debug regions do not work with link-time optimisation; compile this "
                               "file with -fno-lto"
        : facts_.sanitized   ? "debug regions do not work with the address, thread and memory sanitizers; "
                               "compile without -fsanitize"
        : facts_.libcxx      ? "debug regions do not work with libc++; compile without -stdlib=libc++"
        : facts_.precompiled ? "a precompiled header or module cannot contain debug regions"
                             : nullptr;
    if (!reason) return false;
    for (const extractor::RegionFile& file : files_.files())
      if (!file.scan.regions.empty()) {
        const source::Region& region = file.scan.regions[0];
        print_message(Level::Error, file, region.begin_line, region.begin_column, reason, message_options_);
        return true;
      }
    return false;
  }

  // Regions are compiled as blocks of their own. If one names a variable that an earlier region declares,
  // that region is left open, so that its variables last. A last, loud attempt shows what is wrong.
  bool compile_debug_code(const ObjectFile& program, const std::string& output) {
    std::set<unsigned> open;
    for (;;) {
      auto unknown = std::make_unique<UnknownNames>(files_);
      if (try_debug_code(program, output, unknown.get())) return true;
      bool changed = false;
      if (!unknown->found().empty() && mentions_.empty()) mentions_ = words_of_regions();
      std::map<std::string, unsigned> last; // region that uses the name
      for (const auto& [name, region] : unknown->found())
        last[name] = std::max(last[name], region);
      for (const auto& [name, region] : last)
        for (unsigned earlier : mentions_[name])
          if (earlier < region) changed |= open.insert(earlier).second;
      if (!captures_.are_known()) changed |= find_captures();
      if (!changed) return try_debug_code(program, output, nullptr);
      files_.set_open_regions(open);
    }
  }

  // What the program's lambdas capture in which a region is the first to use a variable. True if their debug
  // code can be made to capture the same.
  bool find_captures() {
    std::vector<const char*> arguments = without_side_outputs(arguments_);
    FrontendRun run = frontend_run(ViewKind::kStripped);
    run.arguments = arguments;
    run.configure = [&](clang::CompilerInstance& compiler) { make_quiet(compiler, "/dev/null"); };
    run.action = [&](clang::CompilerInstance&) {
      return std::make_unique<CapturesAction>(files_, captures_);
    };
    run_frontend(run);
    captures_.set_known();
    auto insertions = captures_.insertions();
    files_.set_insertions(insertions);
    return !insertions.empty();
  }

  // The regions in which each word stands, in comments and strings too.
  std::map<std::string, std::vector<unsigned>> words_of_regions() const {
    std::map<std::string, std::vector<unsigned>> result;
    auto is_word = [](char c) { // part of a name
      auto byte = static_cast<unsigned char>(c);
      return isalnum(byte) != 0 || c == '_' || c == '$' || byte >= 0x80;
    };
    for (const extractor::RegionFile& file : files_.files()) {
      llvm::SmallVector<llvm::StringRef, 0> lines;
      llvm::StringRef(file.text).split(lines, '\n');
      for (const source::Region& region : file.scan.regions) {
        if (region.kind != source::RegionKind::kBody) continue;
        for (unsigned i = region.begin_line; i < region.end_line; ++i)
          for (llvm::StringRef rest = lines[i].drop_until(is_word); !rest.empty();
               rest = rest.drop_until(is_word)) {
            llvm::StringRef word = rest.take_while(is_word);
            rest = rest.drop_front(word.size());
            std::vector<unsigned>& regions = result[word.str()];
            unsigned number = file.first_region + region.number - 1;
            if (regions.empty() || regions.back() != number) regions.push_back(number);
          }
      }
    }
    return result;
  }

  bool try_debug_code(const ObjectFile& program, const std::string& output, UnknownNames* unknown) {
    extraction_ = {};
    extraction_.unit = fmt::format(
        "{:016x}", llvm::xxh3_64bits(fmt::format("{}\n{}\n{}", facts_.source, directory(), facts_.output)));
    extractor::ProgramSymbols symbols;
    for (const ObjectSymbol& symbol : program.symbols()) {
      if (symbol.place.section == 0) continue;
      if (!symbol.is_local)
        symbols.global.insert(symbol.name);
      else if (!symbol.is_function)
        symbols.local_variables.insert(symbol.name);
      // The optimiser may specialise a static function for the program's own calls.
      else if (facts_.optimisation == 0)
        symbols.local_functions.insert(symbol.name);
    }
    files_.make_views();
    std::vector<const char*> arguments = without_side_outputs(arguments_);
    FrontendRun run = frontend_run(ViewKind::kModule);
    run.arguments = arguments;
    run.configure = [&](clang::CompilerInstance& compiler) {
      make_quiet(compiler, output);
      dependencies_ = std::make_shared<DebugDependencies>(facts_.dependencies.IncludeSystemHeaders != 0);
      compiler.addDependencyCollector(dependencies_);
      if (unknown) {
        compiler.getDiagnostics().setClient(unknown, /*ShouldOwnClient=*/false);
        compiler.getDiagnostics().setErrorLimit(0); // all unknown names at once
      } else {
        map_messages(compiler, files_, ViewKind::kModule);
      }
      auto& code = compiler.getCodeGenOpts();
      auto& language = compiler.getLangOpts();
      compiler.getPreprocessorOpts().addMacroDef("__RDB_CLANG__=1");
      code.OptimizationLevel = 0;
      code.RelocationModel = llvm::Reloc::PIC_;
      language.PICLevel = 2;
      language.PIE = 0;
      language.Sanitize.clear();
      // Without optimisation the front end tells types of accesses for the type sanitizer alone; its pass is
      // not wanted.
      if (facts_.typed) language.Sanitize.set(clang::SanitizerKind::Type, true);
      code.setProfileInstr(llvm::driver::ProfileInstrKind::ProfileNone);
      code.CoverageMapping = 0;
      code.CoverageNotesFile.clear();
      code.CoverageDataFile.clear();
      code.FunctionSections = 0;
      code.PassBuilderCallbacks.push_back([&](llvm::PassBuilder& builder) {
        language.Sanitize.clear();
        builder.registerPipelineStartEPCallback(
            [&](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
              passes.addPass(ModulePass([&](llvm::Module& module) {
                extractor::outline_regions(module, extraction_);
                extractor::reduce_to_debug_code(module, symbols, extraction_);
              }));
            });
      });
    };
    run.action = [&](clang::CompilerInstance&) {
      return std::make_unique<ObjectAction>(files_, ViewKind::kModule, captures_);
    };
    return run_frontend(run);
  }

  // One descriptor compile.
  bool place(codegen::Placement& placement, Twin& twin, const std::string& output) {
    clang::CodeGenAction* action = nullptr;
    std::vector<const char*> arguments = without_side_outputs(arguments_);
    FrontendRun run = frontend_run(ViewKind::kMarked);
    run.arguments = arguments;
    run.configure = [&](clang::CompilerInstance& compiler) {
      make_quiet(compiler, output);
      // Its records are those of a compile without -g: clang would follow variables by assignments instead.
      auto& code = compiler.getCodeGenOpts();
      code.setAssignmentTrackingMode(clang::CodeGenOptions::AssignmentTrackingOpts::Disabled);
      // The twin's facts come from the syntax tree.
      code.ClearASTBeforeBackend = 0;
      code.PassBuilderCallbacks.push_back([&](llvm::PassBuilder& builder) {
        if (!twin.has_begun()) twin.attach(builder, compiler, [&] { return action->getCodeGenerator(); });
        placement.attach(builder);
      });
    };
    run.action = [&](clang::CompilerInstance&) {
      auto made = std::make_unique<ObjectAction>(files_, ViewKind::kMarked, captures_);
      action = made.get();
      return made;
    };
    return run_frontend(run);
  }

  // Looks only at code that matters to regions, as far as the compile of the program has shown which does;
  // at all of it if the optimiser did something else this time.
  int describe(const ObjectFile& program, const TemporaryFile& debug_object) {
    auto line_of_region = [this](unsigned region) {
      auto place = files_.find_region(region);
      return place ? place->region->begin_line : 0;
    };
    Twin twin(extraction_, {extraction_.unit, facts_.source, directory()}, line_of_region,
              signatures_.functions());
    if (auto result = describe(program, debug_object, &inlining_, twin)) return *result;
    return describe(program, debug_object, nullptr, twin).value_or(1);
  }

  // Nothing if the optimiser did not do what was expected.
  std::optional<int> describe(const ObjectFile& program, const TemporaryFile& debug_object,
                              const codegen::Inlining* expected, Twin& twin) {
    TemporaryFile output;
    codegen::Placement placement(extraction_, facts_.optimisation > 0,
                                 codegen::Placement::Records::kVariables, expected);
    if (!place(placement, twin, output.path())) return 1;
    if (!placement.is_as_expected()) return std::nullopt;
    ObjectFile descriptor(output.path());
    ObjectCheck check(program, descriptor);
    UnitDescription unit{files_, extraction_,   placement,   program,
                         check,  facts_.source, directory(), options_.command};
    descriptors::Payload payload = make_payload(unit);
    payload.debug_object = debug_object.read();
    twin.finish();
    payload.twin_object = twin.object();
    if (report_regions(unit, options_.lost_regions, message_options_)) return 1;
    if (!twin.failure().empty()) report_missing_twin(twin.failure());
    descriptors::append_payload(facts_.output, payload);
    return 0;
  }

  // The regions are there, but only in place.
  void report_missing_twin(const std::string& why) {
    if (options_.lost_regions == LostRegions::kIgnore || message_options_.IgnoreWarnings) return;
    for (const extractor::RegionFile& file : files_.files())
      if (!file.scan.regions.empty()) {
        const source::Region& region = file.scan.regions[0];
        print_message(Level::Warning, file, region.begin_line, region.begin_column,
                      "the functions around the debug regions of this file have no twins: " + why,
                      message_options_);
        return;
      }
  }

  static std::string directory() {
    llvm::SmallString<256> path;
    if (llvm::sys::fs::current_path(path)) return ""; // it was removed
    return std::string(path);
  }

  llvm::ArrayRef<const char*> arguments_;
  const char* program_;
  const UnitOptions& options_;
  RegionFiles files_;
  UnitFacts facts_;
  codegen::Inlining inlining_;     // of the program
  codegen::Signatures signatures_; // of the program
  clang::DiagnosticOptions message_options_;
  extractor::Extraction extraction_;
  std::map<std::string, std::vector<unsigned>> mentions_; // regions by the words in them, if that was asked
  extractor::Captures captures_;
  std::shared_ptr<DebugDependencies> dependencies_;
};

} // namespace

int compile_unit(llvm::ArrayRef<const char*> arguments, const char* program, const UnitOptions& options) {
  return UnitCompile(arguments, program, options).run();
}

} // namespace rdb::driver
