// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pass plugin that does not let anything be inlined in one of the compiles of a process: the one whose
// number the environment names. Says of each compile that it sees it.
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

class Unsteady : public llvm::PassInfoMixin<Unsteady> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    static int number = 0;
    std::fprintf(stderr, "compile %d\n", ++number);
    const char* chosen = std::getenv("UNSTEADY_COMPILE");
    if (chosen && std::to_string(number) == chosen)
      for (llvm::Function& function : module)
        function.addFnAttr(llvm::Attribute::NoInline);
    return llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "unsteady", "1", [](llvm::PassBuilder& builder) {
            builder.registerPipelineStartEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(Unsteady()); });
          }};
}
