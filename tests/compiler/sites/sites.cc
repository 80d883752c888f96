// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists the places of a source file where a debug region could be written: before every statement of a block
// that begins a line. For each: the line, the function, and the variables that the statements on both sides
// name and that have a value by then, with a way to print each.
//   sites FILE -- compiler options
#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Tooling/CompilationDatabase.h"
#include "clang/Tooling/Tooling.h"

#include <cstdio>
#include <set>
#include <vector>

namespace {

using namespace clang;

// The variables that a statement names, in their order.
class NameCollector : public DynamicRecursiveASTVisitor {
public:
  std::vector<const VarDecl*> found;
  bool VisitDeclRefExpr(DeclRefExpr* reference) override {
    if (auto* variable = llvm::dyn_cast<VarDecl>(reference->getDecl()))
      if (seen_.insert(variable).second) found.push_back(variable);
    return true;
  }
  bool VisitVarDecl(VarDecl* variable) override {
    if (seen_.insert(variable).second) found.push_back(variable);
    return true;
  }
  bool TraverseLambdaExpr(LambdaExpr*) override { return true; }

private:
  std::set<const VarDecl*> seen_;
};

class SiteVisitor : public DynamicRecursiveASTVisitor {
public:
  explicit SiteVisitor(ASTContext& context) : sources_(context.getSourceManager()) {}

  bool TraverseFunctionDecl(FunctionDecl* function) override { return visit_function(function); }
  bool TraverseCXXMethodDecl(CXXMethodDecl* function) override { return visit_function(function); }
  bool TraverseCXXConstructorDecl(CXXConstructorDecl*) override { return true; }
  bool TraverseCXXDestructorDecl(CXXDestructorDecl*) override { return true; }
  bool TraverseCXXConversionDecl(CXXConversionDecl*) override { return true; }

private:
  bool visit_function(FunctionDecl* function) {
    if (!function->doesThisDeclarationHaveABody() || function->isConstexpr() || function->isDefaulted() ||
        function->isDependentContext() || !sources_.isWrittenInMainFile(function->getBeginLoc()) ||
        function->getBeginLoc().isMacroID())
      return true;
    function_ = function;
    scope_.clear();
    known_.clear();
    for (ParmVarDecl* parameter : function->parameters()) {
      scope_.push_back(parameter);
      known_.insert(parameter);
    }
    if (auto* body = llvm::dyn_cast<CompoundStmt>(function->getBody())) walk_block(*body);
    return true;
  }

  void note_names(Stmt* statement) {
    for (const VarDecl* variable : names(statement))
      known_.insert(variable);
  }

  static std::vector<const VarDecl*> names(Stmt* statement) {
    NameCollector collector;
    if (statement) collector.TraverseStmt(statement);
    return collector.found;
  }

  void walk_block(CompoundStmt& block) {
    size_t outer = scope_.size();
    std::vector<Stmt*> statements(block.body_begin(), block.body_end());
    for (size_t i = 0; i < statements.size(); ++i) {
      Stmt* statement = statements[i];
      site_before(i > 0 ? statements[i - 1] : nullptr, *statement);
      walk_inside(statement);
      if (auto* declaration = llvm::dyn_cast<DeclStmt>(statement))
        for (Decl* decl : declaration->decls())
          if (auto* variable = llvm::dyn_cast<VarDecl>(decl)) {
            if (variable->isLocalVarDecl() && !variable->hasGlobalStorage()) scope_.push_back(variable);
            if (variable->hasInit()) known_.insert(variable);
          }
      if (!llvm::isa<DeclStmt>(statement)) note_names(statement);
    }
    scope_.resize(outer);
  }

  // Blocks inside a statement, with what its head declares in scope.
  void walk_inside(Stmt* statement) {
    if (!statement || llvm::isa<Expr>(statement) || llvm::isa<DeclStmt>(statement)) return;
    if (auto* block = llvm::dyn_cast<CompoundStmt>(statement)) return walk_block(*block);
    size_t outer = scope_.size();
    for (Stmt* child : statement->children()) {
      if (auto* declaration = llvm::dyn_cast_or_null<DeclStmt>(child); declaration && child != nullptr) {
        for (Decl* decl : declaration->decls())
          if (auto* variable = llvm::dyn_cast<VarDecl>(decl); variable && !variable->isImplicit()) {
            scope_.push_back(variable);
            known_.insert(variable);
          }
      } else if (child && llvm::isa<Expr>(child)) {
        note_names(child);
      } else {
        walk_inside(child);
      }
    }
    scope_.resize(outer);
  }

  static bool never_goes_on(const Stmt* statement) {
    while (auto* label = llvm::dyn_cast<SwitchCase>(statement))
      statement = label->getSubStmt();
    if (auto* label = llvm::dyn_cast<LabelStmt>(statement)) return never_goes_on(label->getSubStmt());
    if (llvm::isa<ReturnStmt, BreakStmt, ContinueStmt, GotoStmt, IndirectGotoStmt, CXXThrowExpr>(statement))
      return true;
    if (auto* block = llvm::dyn_cast<CompoundStmt>(statement))
      return !block->body_empty() && never_goes_on(block->body_back());
    if (auto* choice = llvm::dyn_cast<IfStmt>(statement))
      return choice->getElse() && never_goes_on(choice->getThen()) && never_goes_on(choice->getElse());
    if (auto* loop = llvm::dyn_cast<ForStmt>(statement)) return !loop->getCond();
    if (auto* loop = llvm::dyn_cast<WhileStmt>(statement)) {
      auto* literal = llvm::dyn_cast<IntegerLiteral>(loop->getCond()->IgnoreParenCasts());
      return literal && literal->getValue().getBoolValue();
    }
    if (auto* expression = llvm::dyn_cast<ExprWithCleanups>(statement))
      return never_goes_on(expression->getSubExpr());
    return false;
  }

  void site_before(Stmt* previous, Stmt& statement) {
    // No place behind a jump, nor in front of a label that others jump to.
    if (previous && never_goes_on(previous)) return;
    if (llvm::isa<SwitchCase, LabelStmt, NullStmt>(statement)) return;
    SourceLocation begin = statement.getBeginLoc();
    if (begin.isMacroID()) return;
    auto [file, offset] = sources_.getDecomposedLoc(begin);
    if (file != sources_.getMainFileID()) return;
    llvm::StringRef text = sources_.getBufferData(file);
    size_t line_begin = text.rfind('\n', offset) + 1;
    if (!text.slice(line_begin, offset).trim().empty()) return;
    if (previous &&
        (previous->getEndLoc().isMacroID() ||
         sources_.getExpansionLineNumber(previous->getEndLoc()) >= sources_.getSpellingLineNumber(begin)))
      return;
    unsigned line = sources_.getSpellingLineNumber(begin) - 1; // the region goes behind this line
    std::string variables;
    std::set<const VarDecl*> done;
    for (Stmt* near : {&statement, previous})
      for (const VarDecl* variable : names(near)) {
        if (!llvm::is_contained(scope_, variable) || !known_.contains(variable)) continue;
        if (done.insert(variable).second) variables += printing(*variable);
      }
    if (!variables.empty())
      printf("%u\t%s%s\n", line, function_->getQualifiedNameAsString().c_str(), variables.c_str());
  }

  // "\tname|format|expression", twice if what it points to can be printed as well.
  std::string printing(const VarDecl& variable) const {
    std::string name = variable.getNameAsString();
    if (name.empty()) return "";
    QualType type = variable.getType().getNonReferenceType();
    auto scalar = [&](QualType what, const std::string& expression) -> std::string {
      if (what.isVolatileQualified()) return "";
      if (what->isIntegralOrUnscopedEnumerationType()) return "\t" + name + "|%lld|(long long)" + expression;
      if (what->isSpecificBuiltinType(BuiltinType::Double)) return "\t" + name + "|%g|" + expression;
      if (what->isPointerType() && !what->isFunctionPointerType())
        return "\t" + name + "|%p|(const void*)" + expression;
      return "";
    };
    std::string result = scalar(type, name);
    const RecordDecl* record = nullptr;
    std::string access;
    if (type->isPointerType()) {
      record = type->getPointeeType()->getAsRecordDecl();
      access = "->";
    } else if (type->isRecordType()) {
      record = type->getAsRecordDecl();
      access = ".";
    }
    if (record && (record = record->getDefinition()))
      for (const FieldDecl* field : record->fields()) {
        if (field->getAccess() == AS_private || field->getAccess() == AS_protected || !field->getIdentifier())
          continue;
        std::string member = scalar(field->getType(), name + access + field->getNameAsString());
        if (member.empty()) continue;
        result += member;
        break;
      }
    return result;
  }

  SourceManager& sources_;
  FunctionDecl* function_ = nullptr;
  std::vector<const VarDecl*> scope_;
  std::set<const VarDecl*> known_; // have a value by now, as far as the text tells
};

class SiteConsumer : public ASTConsumer {
public:
  void HandleTranslationUnit(ASTContext& context) override {
    SiteVisitor(context).TraverseDecl(context.getTranslationUnitDecl());
  }
};

class SiteAction : public ASTFrontendAction {
protected:
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance&, llvm::StringRef) override {
    return std::make_unique<SiteConsumer>();
  }
};

} // namespace

int main(int argc, const char** argv) {
  std::string error;
  auto options = clang::tooling::FixedCompilationDatabase::loadFromCommandLine(argc, argv, error);
  if (!options || argc < 2) {
    fprintf(stderr, "usage: sites FILE -- compiler options\n%s", error.c_str());
    return 2;
  }
  clang::tooling::ClangTool tool(*options, {argv[1]});
  return tool.run(clang::tooling::newFrontendActionFactory<SiteAction>().get());
}
