// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The walk keeps the statements around the current one, because most rules ask where a jump goes and what
// stands around a region.
#include "llvm-passes/extractor/region_rules.h"

#include "llvm-passes/extractor/debug_only_rules.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/Diagnostic.h"

#include <set>
#include <vector>

namespace rdb::extractor {

namespace {

// An instance of a template is what the template is; but what its lambdas capture is known of it alone.
enum class Instances { kNone, kThis };

class RuleVisitor : public clang::DynamicRecursiveASTVisitor {
public:
  RuleVisitor(const Places& places, clang::DiagnosticsEngine& diagnostics, Instances instances,
              Captures& captures, std::set<clang::SourceLocation>& refused)
      : places_(places), diagnostics_(diagnostics), instances_(instances), captures_(captures),
        refused_(refused) {}

  bool TraverseStmt(clang::Stmt* statement) override {
    if (!statement) return true;
    if (instances_ == Instances::kNone) check(statement);
    around_.push_back(statement);
    clang::DynamicRecursiveASTVisitor::TraverseStmt(statement);
    around_.pop_back();
    return true;
  }

  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) override {
    check_captures(lambda);
    return clang::DynamicRecursiveASTVisitor::TraverseLambdaExpr(lambda);
  }

private:
  unsigned region_of(clang::SourceLocation location) const { return places_.find(location).region; }

  void error(clang::SourceLocation location, llvm::StringRef message) {
    unsigned id = diagnostics_.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0");
    diagnostics_.Report(location, id) << message;
  }

  void check(clang::Stmt* statement) {
    using namespace clang;
    if (auto* call = llvm::dyn_cast<CallExpr>(statement)) check_marker(call);
    unsigned region = region_of(statement->getBeginLoc());
    if (auto* label = llvm::dyn_cast<GotoStmt>(statement)) {
      unsigned target = region_of(label->getLabel()->getLocation());
      if (target != region && region != 0)
        error(label->getGotoLoc(), "'goto' leaves a debug region; a region must end at its rdb_end");
      else if (target != region)
        error(label->getGotoLoc(), "'goto' enters a debug region; a region must be entered at its rdb_begin");
      return;
    }
    if (auto* label = llvm::dyn_cast<SwitchCase>(statement)) {
      if (region != 0 && region_of(switch_around()) != region)
        error(label->getKeywordLoc(), "a case label inside a debug region belongs to a switch outside it");
      return;
    }
    if (region == 0 || !places_.find(statement->getBeginLoc()).is_marked())
      return check_declaration(statement);
    if (auto* leaving = llvm::dyn_cast<ReturnStmt>(statement)) {
      if (!inside_own_lambda(region))
        error(leaving->getReturnLoc(), "'return' leaves a debug region; a region must end at its rdb_end");
    } else if (llvm::isa<CoreturnStmt, CoawaitExpr, CoyieldExpr>(statement)) {
      error(statement->getBeginLoc(), "a debug region cannot suspend or end the coroutine it stands in");
    } else if (auto* jump = llvm::dyn_cast<BreakStmt>(statement)) {
      if (!jump_stays_inside(region, /*is_break=*/true))
        error(jump->getBeginLoc(), "'break' leaves a debug region; a region must end at its rdb_end");
    } else if (auto* again = llvm::dyn_cast<ContinueStmt>(statement)) {
      if (!jump_stays_inside(region, /*is_break=*/false))
        error(again->getBeginLoc(), "'continue' leaves a debug region; a region must end at its rdb_end");
    } else if (llvm::isa<IndirectGotoStmt>(statement)) {
      error(statement->getBeginLoc(), "a computed goto may leave the debug region; use a switch instead");
    } else if (auto* binary = llvm::dyn_cast<BinaryOperator>(statement)) {
      if (binary->isAssignmentOp()) check_write(binary->getLHS(), region, binary->getOperatorLoc());
    } else if (auto* unary = llvm::dyn_cast<UnaryOperator>(statement)) {
      if (unary->isIncrementDecrementOp()) check_write(unary->getSubExpr(), region, unary->getOperatorLoc());
    } else if (auto* call = llvm::dyn_cast<CXXOperatorCallExpr>(statement)) {
      if (call->isAssignmentOp() || call->getOperator() == OO_PlusPlus ||
          call->getOperator() == OO_MinusMinus)
        check_write(call->getArg(0), region, call->getOperatorLoc());
    }
  }

  // Code of the program inside a function has no part that leaves it by its name.
  void check_declaration(clang::Stmt* statement) {
    auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
    if (!declaration) return;
    for (clang::Decl* one : declaration->decls())
      if (auto* named = llvm::dyn_cast<clang::NamedDecl>(one); named && is_debug_code(*named))
        error(named->getLocation(), ("'" + named->getName() + "' is debug code by its " + debug_sign(*named) +
                                     "; declare it in a region or at file scope")
                                        .str());
  }

  // The region's begin marker: what stands around the region's own statement must be a block.
  void check_marker(clang::CallExpr* call) {
    using namespace clang;
    if (call->getBuiltinCallee() != Builtin::BI__builtin_annotation || call->getNumArgs() != 2) return;
    auto* text = llvm::dyn_cast<StringLiteral>(call->getArg(1)->IgnoreParenImpCasts());
    if (!text || text->getString() != "rdb.enter") return;
    unsigned region = region_of(call->getBeginLoc());
    for (auto outer = around_.rbegin(); outer != around_.rend(); ++outer) {
      bool own = region_of((*outer)->getBeginLoc()) == region;
      if (!own && llvm::isa<CompoundStmt, SwitchCase, LabelStmt, AttributedStmt>(*outer)) {
        if (llvm::isa<CompoundStmt>(*outer)) return;
        continue; // a label of the program in front of the region
      }
      if (!own) {
        error(call->getBeginLoc(),
              "a debug region cannot be the sole body of a statement; put braces around it");
        return;
      }
    }
  }

  clang::SourceLocation switch_around() const {
    for (auto outer = around_.rbegin(); outer != around_.rend(); ++outer)
      if (llvm::isa<clang::SwitchStmt>(*outer)) return (*outer)->getBeginLoc();
    return {};
  }

  bool inside_own_lambda(unsigned region) const {
    for (auto outer = around_.rbegin(); outer != around_.rend(); ++outer)
      if (llvm::isa<clang::LambdaExpr>(*outer)) return region_of((*outer)->getBeginLoc()) == region;
    return false;
  }

  bool jump_stays_inside(unsigned region, bool is_break) const {
    using namespace clang;
    for (auto outer = around_.rbegin(); outer != around_.rend(); ++outer) {
      bool target = llvm::isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(*outer) ||
                    (is_break && llvm::isa<SwitchStmt>(*outer));
      if (target) return region_of((*outer)->getBeginLoc()) == region;
    }
    return false;
  }

  void check_write(clang::Expr* target, unsigned region, clang::SourceLocation at) {
    using namespace clang;
    // Down to the variable, as long as every step stays inside its own memory.
    for (;;) {
      target = target->IgnoreParenCasts();
      if (auto* member = llvm::dyn_cast<MemberExpr>(target)) {
        if (llvm::isa<CXXThisExpr>(member->getBase()->IgnoreParenCasts()) &&
            region_of(this_owner_location()) != region)
          return write_error(at, member->getMemberDecl()->getName());
        if (member->isArrow()) return;
        target = member->getBase();
      } else if (auto* element = llvm::dyn_cast<ArraySubscriptExpr>(target)) {
        target = element->getBase()->IgnoreParenCasts();
        if (!target->getType()->isArrayType()) return;
      } else if (auto* call = llvm::dyn_cast<CXXOperatorCallExpr>(target);
                 call && call->getOperator() == OO_Subscript) {
        target = call->getArg(0);
      } else {
        break;
      }
    }
    auto* reference = llvm::dyn_cast<DeclRefExpr>(target);
    if (!reference) return;
    auto* variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
    if (!variable || is_debug_code(*variable)) return;
    if (region_of(variable->getLocation()) != 0) return; // of this or another region, or debug-only
    write_error(at, variable->getName());
  }

  clang::SourceLocation this_owner_location() const {
    for (auto outer = around_.rbegin(); outer != around_.rend(); ++outer)
      if (llvm::isa<clang::LambdaExpr>(*outer)) return (*outer)->getBeginLoc();
    return {};
  }

  void write_error(clang::SourceLocation at, llvm::StringRef name) {
    error(at, ("a debug region cannot write to '" + name +
               "', a variable of the program; copy it to a variable of the region")
                  .str());
  }

  // Captures that only a region needs would give the program's closure a member it does not have. Of the rest
  // the members must be where the program has them, see captures.h.
  void check_captures(clang::LambdaExpr* lambda) {
    if (region_of(lambda->getBeginLoc()) != 0 || lambda->getLambdaClass()->isDependentContext()) return;
    std::optional<LambdaPlace> place = place_of(*lambda, places_);
    bool is_refused = false;
    for (const auto& capture : lambda->implicit_captures()) {
      if (region_of(capture.getLocation()) == 0) continue;
      is_refused = true;
      if (place) captures_.want(*place);
      refuse_capture(capture, place);
    }
    const Captures::Names* program = place ? captures_.find(*place) : nullptr;
    if (program && !is_refused && default_captures(*lambda) != *program &&
        refused_.insert(lambda->getBeginLoc()).second)
      error(lambda->getBeginLoc(), "the program's lambda captures other variables than the same lambda with "
                                   "its debug regions; capture them explicitly");
  }

  void refuse_capture(const clang::LambdaCapture& capture, const std::optional<LambdaPlace>& place) {
    if (!refused_.insert(capture.getLocation()).second) return;
    std::string name =
        capture.capturesVariable() ? capture.getCapturedVar()->getNameAsString() : std::string("this");
    bool is_later = place && captures_.has(*place, name);
    error(capture.getLocation(),
          is_later ? "the program's lambda does not capture '" + name +
                         "' before the region, and its instances do not capture the same, or not by name; " +
                         "capture it explicitly or use it before the region"
                   : "the program's lambda does not capture '" + name + "'; capture it explicitly");
  }

  const Places& places_;
  clang::DiagnosticsEngine& diagnostics_;
  Instances instances_;
  Captures& captures_;
  std::set<clang::SourceLocation>& refused_;
  std::vector<clang::Stmt*> around_;
};

} // namespace

void check_region_rules(clang::FunctionDecl& function, const Places& places,
                        clang::DiagnosticsEngine& diagnostics, Captures& captures,
                        std::set<clang::SourceLocation>& refused) {
  Instances instances = function.isTemplateInstantiation() ? Instances::kThis : Instances::kNone;
  RuleVisitor(places, diagnostics, instances, captures, refused).TraverseStmt(function.getBody());
}

} // namespace rdb::extractor
