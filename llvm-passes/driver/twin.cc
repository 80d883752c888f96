// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/driver/twin.h"

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/TargetInfo.h"
#include "clang/CodeGen/BackendUtil.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"

#include <utility>

namespace rdb::driver {

namespace {

class CopyPass : public llvm::PassInfoMixin<CopyPass> {
public:
  explicit CopyPass(std::unique_ptr<llvm::Module>& copy) : copy_(copy) {}
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    if (!copy_) copy_ = extractor::copy_for_twin(module);
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  std::unique_ptr<llvm::Module>& copy_;
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
  code.VerifyModule = 0; // that was done, and is no reason to end the compile
}

} // namespace

Twin::Twin(const extractor::Extraction& extraction, extractor::TwinUnit unit,
           std::function<unsigned(unsigned region)> line_of_region,
           const extractor::CompiledFunctions& compiled)
    : extraction_(extraction), unit_(std::move(unit)), line_of_region_(std::move(line_of_region)),
      compiled_(compiled) {}

Twin::~Twin() = default;

void Twin::attach(llvm::PassBuilder& builder) {
  builder.registerPipelineStartEPCallback([this](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
    passes.addPass(CopyPass(module_));
  });
}

void Twin::finish(clang::CompilerInstance& compiler, clang::CodeGenerator& generator) {
  if (!module_ || compiler.getDiagnostics().hasErrorOccurred()) return;
  extractor::SourceNames names(compiler.getASTContext(), *module_, [&](llvm::StringRef symbol) {
    return generator.GetDeclForMangledName(symbol);
  });
  size_t regions = extractor::make_twin(*module_, extraction_, unit_, line_of_region_, names, compiled_);
  if (regions > 0) emit(compiler);
  module_.reset(); // its LLVM context is about to go
}

void Twin::emit(clang::CompilerInstance& compiler) {
  llvm::raw_string_ostream why(failure_);
  if (llvm::verifyModule(*module_, &why)) return;
  // An instance of its own: nothing that the user's compile is given (plugins of passes, who hears of
  // messages) has to do with the twin.
  auto invocation = std::make_shared<clang::CompilerInvocation>(compiler.getInvocation());
  invocation->getLangOpts().Sanitize.clear();
  clang::CompilerInstance instance(std::move(invocation));
  clang::IgnoringDiagConsumer nobody;
  instance.createVirtualFileSystem(compiler.getVirtualFileSystemPtr());
  instance.createDiagnostics(&nobody, /*ShouldOwnClient=*/false);
  set_options(instance.getCodeGenOpts());

  llvm::LLVMContext& context = module_->getContext();
  auto handler = context.getDiagnosticHandler();
  context.setDiagnosticHandler(std::make_unique<FirstError>(failure_));
  llvm::SmallString<0> object;
  clang::emitBackendOutput(instance, instance.getCodeGenOpts(), compiler.getTarget().getDataLayoutString(),
                           module_.get(), clang::Backend_EmitObj, compiler.getVirtualFileSystemPtr(),
                           std::make_unique<llvm::raw_svector_ostream>(object));
  context.setDiagnosticHandler(std::move(handler));
  if (failure_.empty() && instance.getDiagnostics().hasErrorOccurred()) failure_ = "the compiler refuses it";
  if (failure_.empty()) object_ = object.str();
}

} // namespace rdb::driver
