// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In C++ the name of a symbol leads to its declaration. In C that of a function's static variable is
// "function.variable", with a number behind it if there are several, and the front end does not keep what it
// made it of: the declarations in the function are searched.
#include "llvm-passes/extractor/source_names.h"

#include "llvm-passes/extractor/result_bits.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Mangle.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <utility>

namespace rdb::extractor {

namespace {

// "f.x.12" is one of the variables "f.x".
llvm::StringRef without_number(llvm::StringRef name) {
  auto [rest, number] = name.rsplit('.');
  bool is_number = !number.empty() && llvm::all_of(number, llvm::isDigit);
  return is_number ? rest : name;
}

} // namespace

SourceNames::SourceNames(clang::ASTContext& context, const llvm::Module& module, Lookup declaration)
    : context_(context), declaration_(std::move(declaration)) {
  if (context.getLangOpts().CPlusPlus) return;
  for (const llvm::GlobalVariable& variable : module.globals())
    if (variable.hasLocalLinkage() && variable.getName().contains('.'))
      locals_of_c_[without_number(variable.getName()).str()].push_back(&variable);
}

SourcePlace SourceNames::place_of(const clang::Decl& declaration) const {
  clang::PresumedLoc place = context_.getSourceManager().getPresumedLoc(declaration.getLocation());
  if (place.isInvalid()) return {};
  return {place.getFilename(), place.getLine()};
}

SourcePlace SourceNames::function(llvm::StringRef symbol) const {
  const clang::Decl* declaration = declaration_(symbol);
  return declaration && llvm::isa<clang::FunctionDecl>(declaration) ? place_of(*declaration) : SourcePlace();
}

std::vector<bool> SourceNames::result_bits(llvm::StringRef symbol) const {
  const auto* declaration = llvm::dyn_cast_or_null<clang::FunctionDecl>(declaration_(symbol));
  return declaration ? extractor::result_bits(context_, *declaration) : std::vector<bool>();
}

StaticVariable SourceNames::variable(const llvm::GlobalVariable& variable) const {
  StaticVariable result;
  const auto* found = llvm::dyn_cast_or_null<clang::VarDecl>(declaration_(variable.getName()));
  if (found) {
    result.name = found->getNameAsString();
    if (const auto* host = llvm::dyn_cast_or_null<clang::FunctionDecl>(found->getParentFunctionOrMethod()))
      result.function = clang::ASTNameGenerator(context_).getName(host);
    if (const clang::VarDecl* definition = found->getDefinition()) found = definition;
  } else if (!context_.getLangOpts().CPlusPlus) {
    found = local_of_c(variable, result.function, result.name);
  }
  if (found) result.place = place_of(*found);
  return result;
}

const clang::VarDecl* SourceNames::local_of_c(const llvm::GlobalVariable& variable, std::string& function,
                                              std::string& name) const {
  llvm::StringRef base = without_number(variable.getName());
  auto entry = locals_of_c_.find(base.str());
  if (entry == locals_of_c_.end()) return nullptr;
  auto [host, local] = base.rsplit('.');
  const auto* declaration = llvm::dyn_cast_or_null<clang::FunctionDecl>(declaration_(host));
  if (!declaration) return nullptr;
  std::vector<const clang::VarDecl*> candidates;
  for (const clang::Decl* inner : declaration->decls())
    if (const auto* candidate = llvm::dyn_cast<clang::VarDecl>(inner);
        candidate && candidate->isStaticLocal() && candidate->getName() == local)
      candidates.push_back(candidate);
  if (candidates.empty()) return nullptr;
  function = host.str();
  name = local.str();
  // One in code that is never reached has no symbol: then it is not known which are which.
  const auto& symbols = entry->second;
  if (candidates.size() != symbols.size()) return nullptr;
  return candidates[static_cast<size_t>(std::ranges::find(symbols, &variable) - symbols.begin())];
}

} // namespace rdb::extractor
