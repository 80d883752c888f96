// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the twin of a unit beside the compile that follows regions: the module of that compile, as the front
// end left it, is copied before its first pass, and goes through code generation once more without
// optimisation.
#pragma once

#include "llvm-passes/extractor/twin_facts.h"
#include "llvm-passes/extractor/twin_module.h"

#include <functional>
#include <memory>
#include <string>

namespace clang {
class CodeGenerator;
class CompilerInstance;
} // namespace clang
namespace llvm {
class PassBuilder;
} // namespace llvm

namespace rdb::driver {

class Twin {
public:
  Twin(const extractor::Extraction& extraction, extractor::TwinUnit unit,
       std::function<unsigned(unsigned region)> line_of_region, const extractor::CompiledFunctions& compiled);
  ~Twin();

  // Must come before whatever else changes the module at the start of its pipeline.
  void attach(llvm::PassBuilder& builder);
  // When that compile has ended, but before its syntax tree and its LLVM context do.
  void finish(clang::CompilerInstance& compiler, clang::CodeGenerator& generator);

  // An ELF relocatable; empty if there is no twin.
  const std::string& object() const { return object_; }
  // Why there is none though there are regions; empty if there is one, or no region for it to call.
  const std::string& failure() const { return failure_; }

private:
  void emit(clang::CompilerInstance& compiler);

  const extractor::Extraction& extraction_;
  extractor::TwinUnit unit_;
  std::function<unsigned(unsigned region)> line_of_region_;
  const extractor::CompiledFunctions& compiled_;
  std::unique_ptr<llvm::Module> module_;
  std::string object_;
  std::string failure_;
};

} // namespace rdb::driver
