// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/driver/twin.h"

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/TargetInfo.h"
#include "clang/CodeGen/BackendUtil.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace rdb::driver {

namespace {

class StartPass : public llvm::PassInfoMixin<StartPass> {
public:
  explicit StartPass(std::function<void(llvm::Module&)> start) : start_(std::move(start)) {}
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    start_(module);
    return llvm::PreservedAnalyses::all(); // here: the other process has a module of its own
  }
  static bool isRequired() { return true; }

private:
  std::function<void(llvm::Module&)> start_;
};

// Keeps the first error. LLVM's own handler would end the process, and the user's program is fine.
class FirstError : public llvm::DiagnosticHandler {
public:
  explicit FirstError(std::string& text) : text_(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error || !text_.empty()) return true;
    llvm::raw_string_ostream out(text_);
    llvm::DiagnosticPrinterRawOStream printer(out);
    // What is added to the message of this one is no line.
    if (const auto* assembly = llvm::dyn_cast<llvm::DiagnosticInfoInlineAsm>(&info))
      out << assembly->getMsgStr();
    else
      info.print(printer);
    return true;
  }

private:
  std::string& text_;
};

void write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0) _exit(1);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

std::string read_all(int file) {
  std::string bytes;
  char buffer[65536];
  for (off_t at = 0;; at = static_cast<off_t>(bytes.size())) {
    ssize_t count = pread(file, buffer, sizeof buffer, at);
    if (count <= 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(count));
  }
}

// What is the same in every twin, whatever the program's own object is to be. The rest of the user's options
// (the processor, floating point, the exception model ...) say what the code means, and stay.
void set_options(clang::CodeGenOptions& code) {
  code.OptimizationLevel = 0;
  code.OptimizeSize = 0;
  code.RelocationModel = llvm::Reloc::PIC_;
  code.CodeModel = "small";
  code.FunctionSections = 0;
  code.DataSections = 0;
  code.UniqueSectionNames = 1;
  code.BBSections = "none";
  code.SplitMachineFunctions = 0;
  code.StackSizeSection = 0;
  code.EmitSFrameUnwind = 0;
  code.Addrsig = 0;
  code.CallGraphSection = 0;
  code.EmitCallSiteInfo = 0;
  code.setDebugInfo(llvm::codegenoptions::NoDebugInfo);
  code.SplitDwarfFile.clear();
  code.SplitDwarfOutput.clear();
  code.setProfileInstr(llvm::driver::ProfileInstrKind::ProfileNone);
  code.setProfileUse(llvm::driver::ProfileInstrKind::ProfileNone);
  code.SampleProfileFile.clear();
  code.MemoryProfileOutput.clear();
  code.MemoryProfileUsePath.clear();
  code.CoverageMapping = 0;
  code.CoverageNotesFile.clear();
  code.CoverageDataFile.clear();
  code.SanitizeCoverageType = 0;
  code.SanitizeBinaryMetadataCovered = code.SanitizeBinaryMetadataAtomics = code.SanitizeBinaryMetadataUAR =
      0;
  code.StackUsageOutput.clear();
  code.SaveTempsFilePrefix.clear();
  code.OptRecordFile.clear();
  code.PassBuilderCallbacks.clear();
  code.TimePasses = 0;
  code.VerifyModule = 0; // the functions with regions were looked at, the others are the front end's
}

} // namespace

Twin::Twin(const extractor::Extraction& extraction, extractor::TwinUnit unit,
           std::function<unsigned(unsigned region)> line_of_region,
           const extractor::CompiledFunctions& compiled)
    : extraction_(extraction), unit_(std::move(unit)), line_of_region_(std::move(line_of_region)),
      compiled_(compiled) {}

Twin::~Twin() {
  finish();
}

void Twin::attach(llvm::PassBuilder& builder, clang::CompilerInstance& compiler,
                  const std::function<clang::CodeGenerator*()>& generator) {
  builder.registerPipelineStartEPCallback(
      [this, &compiler, generator](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
        passes.addPass(StartPass([this, &compiler, generator](llvm::Module& module) {
          if (!has_begun()) begin(module, compiler, *generator());
        }));
      });
}

void Twin::begin(llvm::Module& module, clang::CompilerInstance& compiler, clang::CodeGenerator& generator) {
  object_file_ = memfd_create("rdb-twin", MFD_CLOEXEC);
  failure_file_ = memfd_create("rdb-twin-failure", MFD_CLOEXEC);
  process_ = object_file_ < 0 || failure_file_ < 0 ? -1 : fork();
  if (process_ < 0) failure_ = fmt::format("no process can be started for it: {}", strerror(errno));
  if (process_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Files that are to be removed when a compile fails are those of the other process, and so is what its
  // passes are asked to print.
  llvm::sys::unregisterHandlers();
  llvm::remove_fatal_error_handler();
  llvm::install_fatal_error_handler(
      [](void* file, const char* message, bool) {
        write_all(*static_cast<int*>(file), message);
        _exit(1);
      },
      &failure_file_);
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  try {
    make(module, compiler, generator);
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
  write_all(object_file_, object_);
  write_all(failure_file_, failure_);
  _exit(0);
}

void Twin::finish() {
  if (process_ <= 0 || is_done_) return;
  is_done_ = true;
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  failure_ = read_all(failure_file_);
  if (WIFSIGNALED(status)) failure_ = fmt::format("the compiler ended by signal {}", WTERMSIG(status));
  if (failure_.empty()) object_ = read_all(object_file_);
  close(object_file_);
  close(failure_file_);
}

void Twin::make(llvm::Module& module, clang::CompilerInstance& compiler, clang::CodeGenerator& generator) {
  if (module.getNamedMetadata("llvm.dbg.cu")) llvm::StripDebugInfo(module);
  extractor::SourceNames names(compiler.getASTContext(), module, [&](llvm::StringRef symbol) {
    return generator.GetDeclForMangledName(symbol);
  });
  if (extractor::make_twin(module, extraction_, unit_, line_of_region_, names, compiled_) > 0)
    emit(module, compiler);
}

void Twin::emit(llvm::Module& module, clang::CompilerInstance& compiler) {
  // An instance of its own: nothing that the user's compile is given (plugins of passes, who hears of
  // messages) has to do with the twin.
  auto invocation = std::make_shared<clang::CompilerInvocation>(compiler.getInvocation());
  invocation->getLangOpts().Sanitize.clear();
  clang::CompilerInstance instance(std::move(invocation));
  clang::IgnoringDiagConsumer nobody;
  instance.createVirtualFileSystem(compiler.getVirtualFileSystemPtr());
  instance.createDiagnostics(&nobody, /*ShouldOwnClient=*/false);
  set_options(instance.getCodeGenOpts());
  module.getContext().setDiagnosticHandler(std::make_unique<FirstError>(failure_));
  llvm::SmallString<0> object;
  clang::emitBackendOutput(instance, instance.getCodeGenOpts(), compiler.getTarget().getDataLayoutString(),
                           &module, clang::Backend_EmitObj, compiler.getVirtualFileSystemPtr(),
                           std::make_unique<llvm::raw_svector_ostream>(object));
  if (failure_.empty() && instance.getDiagnostics().hasErrorOccurred()) failure_ = "the compiler refuses it";
  if (failure_.empty()) object_ = object.str();
}

} // namespace rdb::driver
