// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/captures.h"

#include "llvm-passes/extractor/region_rules.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Stmt.h"
#include "clang/Frontend/CompilerInstance.h"

#include <algorithm>

namespace rdb::extractor {

namespace {

// Can a statement capture it by its name? An element of a parameter pack has none of its own, and nothing has
// the address of a bit-field.
bool is_nameable(const clang::LambdaCapture& capture) {
  if (capture.capturesThis()) return true;
  if (!capture.capturesVariable()) return false;
  const clang::ValueDecl* variable = capture.getCapturedVar();
  if (const auto* binding = llvm::dyn_cast<clang::BindingDecl>(variable))
    return binding->getBinding() && !binding->getBinding()->refersToBitField();
  return !variable->isParameterPack();
}

class CaptureVisitor : public clang::DynamicRecursiveASTVisitor {
public:
  CaptureVisitor(Captures& captures, const Places& places) : captures_(captures), places_(places) {}

  bool VisitLambdaExpr(clang::LambdaExpr* lambda) override {
    captures_.note(*lambda, places_);
    return true;
  }

private:
  Captures& captures_;
  const Places& places_;
};

class CaptureConsumer : public clang::ASTConsumer {
public:
  CaptureConsumer(clang::CompilerInstance& compiler, const RegionFiles& files, Captures& captures)
      : captures_(captures), places_(files, compiler.getSourceManager(), ViewKind::kStripped) {}

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* decl : group)
      if (places_.find(decl->getBeginLoc()).file) CaptureVisitor(captures_, places_).TraverseDecl(decl);
    return true;
  }

private:
  Captures& captures_;
  Places places_;
};

} // namespace

std::optional<LambdaPlace> place_of(const clang::LambdaExpr& lambda, const Places& places) {
  clang::SourceLocation brace = lambda.getCompoundStmtBody()->getLBracLoc();
  if (brace.isInvalid() || brace.isMacroID()) return std::nullopt;
  Place place = places.find(brace);
  if (!place.file) return std::nullopt;
  return LambdaPlace{place.file->id, place.line, place.column};
}

std::vector<std::string> default_captures(const clang::LambdaExpr& lambda) {
  std::vector<std::string> names;
  for (const clang::LambdaCapture& capture : lambda.implicit_captures())
    names.push_back(capture.capturesVariable() ? capture.getCapturedVar()->getNameAsString()
                    : capture.capturesThis()   ? "this"
                                               : "");
  return names;
}

void Captures::note(const clang::LambdaExpr& lambda, const Places& places) {
  // What a template's own text captures is of no account: its instances have closures of their own.
  if (lambda.getCaptureDefault() == clang::LCD_None || lambda.getLambdaClass()->isDependentContext()) return;
  std::optional<LambdaPlace> place = place_of(lambda, places);
  if (!place || !wanted_.contains(*place)) return;
  Lambda& known = lambdas_[*place];
  Names names = default_captures(lambda);
  known.is_nameable &= std::ranges::all_of(lambda.implicit_captures(), is_nameable) &&
                       std::set<std::string>(names.begin(), names.end()).size() == names.size();
  known.lists.insert(std::move(names));
}

bool Captures::has(const LambdaPlace& place, const std::string& name) const {
  auto found = lambdas_.find(place);
  return found != lambdas_.end() && std::ranges::any_of(found->second.lists, [&](const Names& names) {
           return std::ranges::find(names, name) != names.end();
         });
}

const Captures::Names* Captures::find(const LambdaPlace& place) const {
  auto found = lambdas_.find(place);
  if (found == lambdas_.end() || !found->second.is_nameable || found->second.lists.size() != 1)
    return nullptr;
  return &*found->second.lists.begin();
}

std::map<unsigned, source::Insertions> Captures::insertions() const {
  std::map<unsigned, source::Insertions> result;
  for (const LambdaPlace& place : wanted_) {
    const Names* names = find(place);
    if (!names) continue;
    std::string text;
    for (const std::string& name : *names)
      text += name == "this" ? "(void)this; " : "(void)__builtin_addressof(" + name + "); ";
    result[place.file][{place.line, place.column + 1}] = text;
  }
  return result;
}

std::unique_ptr<clang::ASTConsumer> make_capture_consumer(clang::CompilerInstance& compiler,
                                                          const RegionFiles& files, Captures& captures) {
  return std::make_unique<CaptureConsumer>(compiler, files, captures);
}

} // namespace rdb::extractor
