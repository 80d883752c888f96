// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cc1 as a function. What the program clang does around the compilation itself (diagnostics of the options,
// time traces, timers, the fatal error handler) is done here in the same order, so that every output is the
// same.
#include "llvm-passes/driver/frontend.h"

#include "clang/Basic/Diagnostic.h"
#include "clang/CodeGen/ObjectFilePCHContainerWriter.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/FrontendDiagnostic.h"
#include "clang/Frontend/TextDiagnosticBuffer.h"
#include "clang/FrontendTool/Utils.h"
#include "clang/Options/OptionUtils.h"
#include "clang/Serialization/ObjectFilePCHContainerReader.h"
#include "llvm/Support/BuryPointer.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Support/Timer.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace rdb::driver {

namespace {

void report_backend_error(void* user_data, const char* message, bool gen_crash_diag) {
  auto& diagnostics = *static_cast<clang::DiagnosticsEngine*>(user_data);
  diagnostics.Report(clang::diag::err_fe_error_backend) << message;
  llvm::sys::RunInterruptHandlers();
  llvm::sys::Process::Exit(gen_crash_diag ? 70 : 1, /*NoCleanup=*/false);
}

void write_time_trace(clang::CompilerInstance& compiler) {
  llvm::SmallString<128> path(compiler.getFrontendOpts().OutputFile);
  llvm::sys::path::replace_extension(path, "json");
  if (!compiler.getFrontendOpts().TimeTracePath.empty()) {
    path = compiler.getFrontendOpts().TimeTracePath;
    if (llvm::sys::fs::is_directory(path)) {
      llvm::sys::path::append(path, llvm::sys::path::filename(compiler.getFrontendOpts().OutputFile));
      llvm::sys::path::replace_extension(path, "json");
    }
  }
  if (auto out = compiler.createOutputFile(path.str(), /*Binary=*/false, /*RemoveFileOnSignal=*/false,
                                           /*UseTemporary=*/false)) {
    llvm::timeTraceProfilerWrite(*out);
    out.reset();
    compiler.clearOutputFiles(false);
  }
  llvm::timeTraceProfilerCleanup();
}

bool execute(clang::CompilerInstance& compiler, const FrontendRun& run) {
  if (!run.action) return clang::ExecuteCompilerInvocation(&compiler);
  compiler.LoadRequestedPlugins();
  if (!compiler.getFrontendOpts().LLVMArgs.empty()) {
    std::vector<const char*> options{"clang (LLVM option parsing)"};
    for (const std::string& option : compiler.getFrontendOpts().LLVMArgs)
      options.push_back(option.c_str());
    llvm::cl::ResetAllOptionOccurrences();
    llvm::cl::ParseCommandLineOptions(static_cast<int>(options.size()), options.data());
  }
  auto action = run.action(compiler);
  // Not only by the client's count: a client may choose not to count.
  bool ok = compiler.ExecuteAction(*action) && !compiler.getDiagnostics().hasErrorOccurred();
  llvm::BuryPointer(std::move(action));
  return ok;
}

} // namespace

bool run_frontend(const FrontendRun& run) {
  auto pch = std::make_shared<clang::PCHContainerOperations>();
  pch->registerWriter(std::make_unique<clang::ObjectFilePCHContainerWriter>());
  pch->registerReader(std::make_unique<clang::ObjectFilePCHContainerReader>());

  // Complaints about the options are kept until there is an engine that prints as the options say.
  auto ids = llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>();
  clang::DiagnosticOptions early_options;
  auto* early = new clang::TextDiagnosticBuffer;
  clang::DiagnosticsEngine early_diagnostics(ids, early_options, early);
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  bool ok =
      clang::CompilerInvocation::CreateFromArgs(*invocation, run.arguments, early_diagnostics, run.program);
  auto compiler = std::make_unique<clang::CompilerInstance>(std::move(invocation), std::move(pch));

  auto& frontend = compiler->getFrontendOpts();
  bool time_trace = !frontend.TimeTracePath.empty();
  if (time_trace)
    llvm::timeTraceProfilerInitialize(frontend.TimeTraceGranularity, run.program, frontend.TimeTraceVerbose);

  auto& search = compiler->getHeaderSearchOpts();
  if (search.UseBuiltinIncludes && search.ResourceDir.empty())
    search.ResourceDir = clang::GetResourcesPath(run.program);
  if (!run.header_directory.empty())
    search.AddPath(run.header_directory, clang::frontend::After, /*IsFramework=*/false,
                   /*IgnoreSysRoot=*/true);

  compiler->createVirtualFileSystem(run.files, early);
  compiler->createDiagnostics();
  if (!compiler->hasDiagnostics()) return false;
  llvm::install_fatal_error_handler(report_backend_error, &compiler->getDiagnostics());
  early->FlushDiagnostics(compiler->getDiagnostics());
  if (!ok) {
    compiler->getDiagnosticClient().finish();
    llvm::remove_fatal_error_handler();
    return false;
  }
  if (run.configure) run.configure(*compiler);

  {
    llvm::TimeTraceScope scope("ExecuteCompiler");
    ok = execute(*compiler, run);
  }
  llvm::TimerGroup::printAll(llvm::errs());
  llvm::TimerGroup::clearAll();
  if (time_trace) write_time_trace(*compiler);
  llvm::remove_fatal_error_handler();
  // The process ends soon; taking an AST apart would only cost time.
  if (frontend.DisableFree) llvm::BuryPointer(std::move(compiler));
  return ok;
}

} // namespace rdb::driver
