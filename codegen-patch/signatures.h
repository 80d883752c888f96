// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the optimiser did to the interfaces of a unit's functions. It drops arguments and results that nobody
// needs, and the symbol does not tell; of a function that others may call it leaves the interface alone, but
// its own calls pass nothing any more for what the function does not read. Whoever runs such a function by
// what its source says must know.
#pragma once

#include "llvm-passes/extractor/twin_facts.h"

#include <map>
#include <string>
#include <vector>

namespace llvm {
class Function;
class Module;
class PassBuilder;
} // namespace llvm

namespace rdb::codegen {

class Signatures {
public:
  // Watches the compile that follows in this process, and does not change anything in it.
  void attach(llvm::PassBuilder& builder);

  const extractor::CompiledFunctions& functions() const { return functions_; }

private:
  void note_source(const llvm::Module& module);
  void note_result(const llvm::Module& module);

  // The types of result and arguments as text: the types themselves go with their compile.
  struct Signature {
    std::string result;
    std::vector<std::string> arguments;
    friend bool operator==(const Signature&, const Signature&) = default;
  };
  static Signature signature_of(const llvm::Function& function);

  std::map<std::string, Signature, std::less<>> source_;
  extractor::CompiledFunctions functions_;
};

} // namespace rdb::codegen
