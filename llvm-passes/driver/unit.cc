// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The three compiles of a unit with regions, in their order: the program itself (its object is what the user
// gets, whatever the other two find), the debug code, the descriptors.
#include "llvm-passes/driver/unit.h"

#include "codegen-patch/placement.h"
#include "descriptors/payload.h"
#include "llvm-passes/driver/frontend.h"
#include "llvm-passes/driver/object_check.h"
#include "llvm-passes/driver/unit_payload.h"
#include "llvm-passes/extractor/debug_module.h"
#include "llvm-passes/extractor/declarations.h"
#include "llvm-passes/extractor/outline.h"
#include "rdbtool/base/error.h"

#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/MultiplexConsumer.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>
#include <unistd.h>

namespace rdb::driver {

namespace {

using extractor::RegionFiles;
using extractor::ViewKind;

// What the first compile tells about the unit.
struct UnitFacts {
  bool makes_object = false;
  std::string output;
  std::string source;
  unsigned optimisation = 0;
  bool lto = false;
  bool sanitized = false; // by one that keeps books about memory
  bool libcxx = false;
  bool precompiled = false;
  extractor::Dialect dialect;
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
  facts.output = frontend.OutputFile;
  if (!frontend.Inputs.empty() && frontend.Inputs[0].isFile())
    facts.source = frontend.Inputs[0].getFile().str();
  facts.optimisation = code.OptimizationLevel;
  facts.lto = code.PrepareForLTO || code.PrepareForThinLTO;
  facts.sanitized =
      language.Sanitize.hasOneOf(clang::SanitizerKind::Address | clang::SanitizerKind::Thread |
                                 clang::SanitizerKind::Memory | clang::SanitizerKind::HWAddress);
  facts.libcxx = language.CPlusPlus && compiler.getHeaderSearchOpts().UseLibcxx;
  facts.precompiled = frontend.ProgramAction == clang::frontend::GeneratePCH ||
                      frontend.ProgramAction == clang::frontend::GenerateModule ||
                      frontend.ProgramAction == clang::frontend::GenerateModuleInterface;
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
  ObjectAction(const RegionFiles& files, ViewKind kind) : files_(files), kind_(kind) {}

protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef file) override {
    auto code = EmitObjAction::CreateASTConsumer(compiler, file);
    if (!code) return nullptr;
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(extractor::make_declaration_consumer(compiler, files_, kind_));
    consumers.push_back(std::move(code));
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }

private:
  const RegionFiles& files_;
  ViewKind kind_;
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
  if (!code.CoverageNotesFile.empty()) code.CoverageNotesFile = "/dev/null";
  code.DiscardValueNames = false;
}

class UnitCompile {
public:
  UnitCompile(llvm::ArrayRef<const char*> arguments, const char* program, const UnitOptions& options)
      : arguments_(arguments), program_(program), options_(options), files_(options.header_directory) {}

  int run() {
    if (!compile_program()) return 1;
    if (files_.empty()) return 0;
    if (report_text_errors()) return 1;
    refuse_what_is_not_done();
    if (!facts_.makes_object) return 0;
    files_.set_dialect(facts_.dialect);
    ObjectFile program(facts_.output);
    TemporaryFile debug_object;
    if (!compile_debug_code(program, debug_object.path())) return 1;
    return describe(program, debug_object);
  }

private:
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
    run.configure = [this](clang::CompilerInstance& compiler) { facts_ = facts_of(compiler); };
    return run_frontend(run);
  }

  bool report_text_errors() const {
    bool any = false;
    for (const extractor::RegionFile& file : files_.files())
      for (const source::Diagnostic& diagnostic : file.scan.diagnostics) {
        fmt::print(stderr, "{}:{}:{}: error: {}\n", file.path, diagnostic.line, diagnostic.column,
                   diagnostic.message);
        any = true;
      }
    return any;
  }

  void refuse_what_is_not_done() const {
    bool any_region = false;
    for (const extractor::RegionFile& file : files_.files())
      any_region |= !file.scan.regions.empty();
    if (!any_region) return;
    const std::string& path = files_.files()[0].path;
    if (facts_.lto)
      limit("{}: debug regions do not work with link-time optimisation; compile this file with -fno-lto",
            path);
    if (facts_.sanitized)
      limit("{}: debug regions do not work with the address, thread and memory sanitizers; compile without "
            "-fsanitize",
            path);
    if (facts_.libcxx)
      limit("{}: debug regions do not work with libc++; compile without -stdlib=libc++", path);
    if (facts_.precompiled) limit("{}: a precompiled header or module cannot contain debug regions", path);
  }

  bool compile_debug_code(const ObjectFile& program, const std::string& output) {
    extraction_.unit = fmt::format(
        "{:016x}", llvm::xxh3_64bits(fmt::format("{}\n{}\n{}", facts_.source, directory(), facts_.output)));
    extractor::ProgramSymbols symbols;
    for (const ObjectSymbol& symbol : program.symbols()) {
      if (!symbol.is_local || symbol.place.section == 0) continue;
      if (!symbol.is_function) symbols.local_variables.insert(symbol.name);
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
      auto& code = compiler.getCodeGenOpts();
      auto& language = compiler.getLangOpts();
      compiler.getPreprocessorOpts().addMacroDef("__RDB_CLANG__=1");
      code.OptimizationLevel = 0;
      code.RelocationModel = llvm::Reloc::PIC_;
      language.PICLevel = 2;
      language.PIE = 0;
      language.Sanitize.clear();
      code.setProfileInstr(llvm::driver::ProfileInstrKind::ProfileNone);
      code.CoverageMapping = 0;
      code.CoverageNotesFile.clear();
      code.CoverageDataFile.clear();
      code.FunctionSections = 0;
      code.PassBuilderCallbacks.push_back([&](llvm::PassBuilder& builder) {
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
      return std::make_unique<ObjectAction>(files_, ViewKind::kModule);
    };
    return run_frontend(run);
  }

  // One descriptor compile.
  bool place(codegen::Placement& placement, const std::string& output) {
    std::vector<const char*> arguments = without_side_outputs(arguments_);
    FrontendRun run = frontend_run(ViewKind::kMarked);
    run.arguments = arguments;
    run.configure = [&](clang::CompilerInstance& compiler) {
      make_quiet(compiler, output);
      compiler.getCodeGenOpts().PassBuilderCallbacks.push_back(
          [&](llvm::PassBuilder& builder) { placement.attach(builder); });
    };
    run.action = [&](clang::CompilerInstance&) {
      return std::make_unique<ObjectAction>(files_, ViewKind::kMarked);
    };
    return run_frontend(run);
  }

  int describe(const ObjectFile& program, const TemporaryFile& debug_object) {
    TemporaryFile output;
    codegen::Placement placement(extraction_, facts_.optimisation > 0,
                                 codegen::Placement::Records::kVariables);
    if (!place(placement, output.path())) return 1;
    ObjectFile descriptor(output.path());
    ObjectCheck check(program, descriptor);
    UnitDescription unit{files_, extraction_,   placement,   program,
                         check,  facts_.source, directory(), options_.command};
    descriptors::Payload payload = make_payload(unit);
    payload.debug_object = debug_object.read();
    if (report_regions(unit, options_.strict)) return 1;
    descriptors::append_payload(facts_.output, payload);
    return 0;
  }

  static std::string directory() {
    llvm::SmallString<256> path;
    llvm::sys::fs::current_path(path);
    return std::string(path);
  }

  llvm::ArrayRef<const char*> arguments_;
  const char* program_;
  const UnitOptions& options_;
  RegionFiles files_;
  UnitFacts facts_;
  extractor::Extraction extraction_;
};

} // namespace

int compile_unit(llvm::ArrayRef<const char*> arguments, const char* program, const UnitOptions& options) {
  return UnitCompile(arguments, program, options).run();
}

} // namespace rdb::driver
