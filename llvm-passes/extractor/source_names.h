// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the functions and static variables of a module stand in the source, as the program's own debug
// information would say it. The module itself need not have any: the front end is asked, which still knows
// what it made each symbol of.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace clang {
class ASTContext;
class Decl;
class VarDecl;
} // namespace clang
namespace llvm {
class GlobalVariable;
class Module;
} // namespace llvm

namespace rdb::extractor {

struct SourcePlace {
  std::string file; // empty: the compiler made it
  unsigned line = 0;
};

struct StaticVariable {
  std::string name;     // empty: the compiler made it
  std::string function; // symbol of the one that it is in
  SourcePlace place;
};

class SourceNames {
public:
  // `declaration` finds what a symbol was made of, null if nothing.
  using Lookup = std::function<const clang::Decl*(llvm::StringRef symbol)>;
  SourceNames(clang::ASTContext& context, const llvm::Module& module, Lookup declaration);

  SourcePlace function(llvm::StringRef symbol) const;
  // As result_bits() has them.
  std::vector<bool> result_bits(llvm::StringRef symbol) const;
  StaticVariable variable(const llvm::GlobalVariable& variable) const;

private:
  SourcePlace place_of(const clang::Decl& declaration) const;
  const clang::VarDecl* local_of_c(const llvm::GlobalVariable& variable, std::string& function,
                                   std::string& name) const;

  clang::ASTContext& context_;
  Lookup declaration_;
  // Static variables of C functions by "function.variable", in the order of the module.
  std::map<std::string, std::vector<const llvm::GlobalVariable*>> locals_of_c_;
};

} // namespace rdb::extractor
