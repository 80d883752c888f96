// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text shows too little where macros are involved, and too much where one declaration has several names.
#include "llvm-passes/extractor/debug_only_rules.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/Diagnostic.h"

namespace rdb::extractor {

namespace {

using namespace clang;

bool has_debug_name(const NamedDecl& decl) {
  return decl.getIdentifier() && decl.getName().starts_with("__rdb_");
}

// A template has those of what it is a template of.
llvm::ArrayRef<Attr*> attributes_of(const Decl& decl) {
  const auto* pattern = llvm::dyn_cast<TemplateDecl>(&decl);
  const Decl* inner = pattern ? pattern->getTemplatedDecl() : &decl;
  return inner && inner->hasAttrs() ? llvm::ArrayRef<Attr*>(inner->getAttrs()) : llvm::ArrayRef<Attr*>();
}

// In a debug-only namespace or class: a member that is defined outside of it.
bool is_in_debug_code(const Decl& decl) {
  for (const DeclContext* around = decl.getDeclContext(); around; around = around->getParent())
    if (const auto* named = llvm::dyn_cast<NamedDecl>(around); named && is_debug_code(*named)) return true;
  return false;
}

class Check {
public:
  Check(Decl& decl, const Places& places, DiagnosticsEngine& diagnostics)
      : decl_(decl), places_(places), diagnostics_(diagnostics) {}

  void run() {
    const auto* named = llvm::dyn_cast<NamedDecl>(&decl_);
    Place begin = places_.find(decl_.getBeginLoc());
    if (!begin.file) return;
    if (named && begin.region == 0) {
      if (is_debug_code(*named)) refuse(*named, "; put rdb_begin_globals and rdb_end_globals around it");
      return;
    }
    if (begin.region == 0 || begin.is_marked()) return;
    if (named && is_debug_code(*named)) {
      if (stands_outside(begin.region))
        refuse(*named, ", but a part of its declaration stands on other lines; put rdb_begin_globals and "
                       "rdb_end_globals around all of it");
    } else if (is_of_the_program()) {
      report((named ? "'" + named->getName() + "'" : llvm::Twine("this")) +
             " would leave the program with the debug code beside it; give each a declaration of its own");
    }
  }

private:
  bool is_outside(SourceLocation location, unsigned region) const {
    return location.isValid() && places_.find(location).region != region;
  }

  // A macro of another line may have begun it, and would then belong to what follows in the program.
  bool stands_outside(unsigned region) const {
    if (is_outside(decl_.getEndLoc(), region)) return true;
    if (const auto* linkage = llvm::dyn_cast<LinkageSpecDecl>(decl_.getLexicalDeclContext());
        linkage && !linkage->hasBraces() && is_outside(linkage->getBeginLoc(), region))
      return true;
    return llvm::any_of(attributes_of(decl_), [&](const Attr* attribute) {
      return !attribute->isImplicit() && !attribute->isInherited() &&
             is_outside(attribute->getLocation(), region);
    });
  }

  // What nobody can miss without an error, types for example, may go.
  bool is_of_the_program() const {
    if (llvm::isa<FileScopeAsmDecl>(decl_)) return true;
    if (is_in_debug_code(decl_)) return false;
    if (const auto* function = llvm::dyn_cast<FunctionDecl>(&decl_))
      return function->getIdentifier() && !function->getTemplateSpecializationInfo();
    const auto* variable = llvm::dyn_cast<VarDecl>(&decl_);
    return variable && !llvm::isa<VarTemplateSpecializationDecl>(variable);
  }

  void refuse(const NamedDecl& named, llvm::StringRef advice) {
    report("'" + named.getName() + "' is debug code by its " + debug_sign(named) + advice);
  }

  void report(const llvm::Twine& message) {
    diagnostics_.Report(decl_.getLocation(), diagnostics_.getCustomDiagID(DiagnosticsEngine::Error, "%0"))
        << message.str();
  }

  Decl& decl_;
  const Places& places_;
  DiagnosticsEngine& diagnostics_;
};

} // namespace

bool is_debug_code(const NamedDecl& decl) {
  return has_debug_name(decl) || llvm::any_of(attributes_of(decl), [](const Attr* attribute) {
           const auto* note = llvm::dyn_cast<AnnotateAttr>(attribute);
           return note && !note->isImplicit() && note->getAnnotation() == "rdb";
         });
}

llvm::StringRef debug_sign(const NamedDecl& decl) {
  return has_debug_name(decl) ? "name" : "attribute";
}

void check_debug_only(Decl& decl, const Places& places, DiagnosticsEngine& diagnostics) {
  if (decl.getLexicalDeclContext()->getRedeclContext()->isFileContext() && !decl.isImplicit())
    Check(decl, places, diagnostics).run();
}

} // namespace rdb::extractor
