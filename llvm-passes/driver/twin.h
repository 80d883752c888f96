// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the twin of a unit beside the compile that follows regions, from the module of that compile as the
// front end left it. A copy of the process does it: it gets the module for nothing, where copying that would
// cost as much as a third of the rest; it works while the compile goes on; and whatever LLVM does with it,
// the user's program is not concerned.
#pragma once

#include "llvm-passes/extractor/twin_facts.h"
#include "llvm-passes/extractor/twin_module.h"

#include <functional>
#include <string>
#include <sys/types.h>

namespace clang {
class CodeGenerator;
class CompilerInstance;
} // namespace clang
namespace llvm {
class Module;
class PassBuilder;
} // namespace llvm

namespace rdb::driver {

class Twin {
public:
  Twin(const extractor::Extraction& extraction, extractor::TwinUnit unit,
       std::function<unsigned(unsigned region)> line_of_region, const extractor::CompiledFunctions& compiled);
  ~Twin();
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  // Begins at the start of a compile's pipeline. Must be attached before whatever changes the module there.
  // `generator` is asked for then, and must still know its declarations.
  void attach(llvm::PassBuilder& builder, clang::CompilerInstance& compiler,
              const std::function<clang::CodeGenerator*()>& generator);
  bool has_begun() const { return process_ != 0; }
  // Waits for it.
  void finish();

  // An ELF relocatable; empty if there is no twin.
  const std::string& object() const { return object_; }
  // Why there is none though there are regions; empty if there is one, or no region for it to call.
  const std::string& failure() const { return failure_; }

private:
  void begin(llvm::Module& module, clang::CompilerInstance& compiler, clang::CodeGenerator& generator);
  void make(llvm::Module& module, clang::CompilerInstance& compiler, clang::CodeGenerator& generator);
  void emit(llvm::Module& module, clang::CompilerInstance& compiler);

  const extractor::Extraction& extraction_;
  extractor::TwinUnit unit_;
  std::function<unsigned(unsigned region)> line_of_region_;
  const extractor::CompiledFunctions& compiled_;
  pid_t process_ = 0;
  bool is_done_ = false;
  // What the other process leaves behind.
  int object_file_ = -1;
  int failure_file_ = -1;
  std::string object_;
  std::string failure_;
};

} // namespace rdb::driver
