// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/show_calls.h"

#include "llvm-passes/extractor/type_text.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/Expr.h"

namespace rdb::extractor {
namespace {

// A copy of a value, in the region's own memory: a program variable whose address is taken could not be in a
// register.
clang::Expr* copy_of(clang::Expr* value, clang::ASTContext& context) {
  clang::QualType type = value->getType().getUnqualifiedType();
  auto* info = context.getTrivialTypeSourceInfo(type, value->getExprLoc());
  return new (context) clang::CompoundLiteralExpr(value->getExprLoc(), info, type, clang::VK_LValue, value,
                                                  /*fileScope=*/false);
}

clang::Expr* address_of(clang::Expr* object, clang::ASTContext& context) {
  return clang::UnaryOperator::Create(
      context, object, clang::UO_AddrOf, context.getPointerType(object->getType()), clang::VK_PRValue,
      clang::OK_Ordinary, object->getExprLoc(), /*CanOverflow=*/false, clang::FPOptionsOverride());
}

clang::Expr* string(const std::string& text, clang::SourceLocation place, clang::ASTContext& context) {
  clang::QualType array =
      context.getStringLiteralArrayType(context.CharTy, static_cast<unsigned>(text.size()));
  clang::Expr* literal = clang::StringLiteral::Create(context, text, clang::StringLiteralKind::Ordinary,
                                                      /*Pascal=*/false, array, place);
  return clang::ImplicitCastExpr::Create(context, context.getArrayDecayedType(array),
                                         clang::CK_ArrayToPointerDecay, literal, nullptr, clang::VK_PRValue,
                                         clang::FPOptionsOverride());
}

class CallVisitor : public clang::DynamicRecursiveASTVisitor {
public:
  explicit CallVisitor(clang::ASTContext& context) : context_(context) {
    ShouldVisitTemplateInstantiations = true;
  }

  bool VisitCallExpr(clang::CallExpr* call) override {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee == nullptr || callee->getIdentifier() == nullptr || call->getNumArgs() != 2) return true;
    if (callee->getName() == "__rdb_show_value") complete_value(*call);
    if (callee->getName() == "__rdb_show_object") complete_object(*call);
    return true;
  }

private:
  // C: the value itself, as a variadic function gets it.
  void complete_value(clang::CallExpr& call) {
    clang::Expr* value = call.getArg(1);
    while (auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(value)) {
      if (cast->getCastKind() == clang::CK_ArrayToPointerDecay) {
        clang::Expr* array = cast->getSubExpr();
        if (array->getType()->isConstantArrayType())
          return complete(call, address_of(array, context_), array->getType());
        break;
      }
      if (cast->getCastKind() != clang::CK_IntegralCast && cast->getCastKind() != clang::CK_FloatingCast)
        break;
      value = cast->getSubExpr(); // the promotion of an argument
    }
    complete(call, address_of(copy_of(value, context_), context_), value->getType());
  }

  // C++: its address.
  void complete_object(clang::CallExpr& call) {
    clang::QualType pointer = call.getArg(1)->IgnoreImpCasts()->getType();
    if (!pointer->isDependentType() && pointer->isPointerType())
      complete(call, call.getArg(1), pointer->getPointeeType());
  }

  void complete(clang::CallExpr& call, clang::Expr* address, clang::QualType type) {
    call.setArg(0, string(type_text(type, context_), call.getExprLoc(), context_));
    call.setArg(1, address);
  }

  clang::ASTContext& context_;
};

} // namespace

void complete_show_calls(clang::Decl& decl, clang::ASTContext& context) {
  CallVisitor(context).TraverseDecl(&decl);
}

} // namespace rdb::extractor
