// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One walk over each function that has a region in its lines. Template patterns are walked before they are
// instantiated, so that the instances inherit the annotations.
#include "llvm-passes/extractor/declarations.h"

#include "llvm-passes/extractor/debug_only_rules.h"
#include "llvm-passes/extractor/region_rules.h"
#include "llvm-passes/extractor/show_calls.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"

#include <algorithm>
#include <fmt/format.h>

namespace rdb::extractor {

VariableNote parse_variable_note(llvm::StringRef text) {
  text.consume_front(kVariableNote);
  llvm::SmallVector<llvm::StringRef, 5> fields;
  text.split(fields, '|', 4);
  VariableNote note;
  note.name = fields[3].str();
  note.type = fields[4].str();
  note.key = text.substr(0, fields[3].end() - text.begin()).str();
  return note;
}

Place Places::find(clang::SourceLocation location) const {
  location = sources_.getExpansionLoc(location);
  auto [id, offset] = sources_.getDecomposedLoc(location);
  auto entry = sources_.getFileEntryRefForID(id);
  if (!entry) return {};
  const RegionFile* file = files_.find(entry->getUniqueID());
  if (!file) return {};
  unsigned line = sources_.getLineNumber(id, offset);
  Place place;
  place.file = file;
  if (kind_ == ViewKind::kStripped) {
    place.line = file->scan.lines.to_edited(line);
  } else {
    const auto& lines = (kind_ == ViewKind::kModule ? file->module : file->marked).edited_lines;
    place.line = line <= lines.size() ? lines[line - 1] : 0;
  }
  place.column = sources_.getColumnNumber(id, offset);
  // The view's made-up text around a region counts as inside.
  if (kind_ == ViewKind::kModule) place.region = RegionFiles::region_at(*file, place.line);
  return place;
}

namespace {

void annotate(clang::Decl* decl, llvm::StringRef text) {
  for (const auto* attribute : decl->specific_attrs<clang::AnnotateAttr>())
    if (attribute->getAnnotation() == text) return;
  decl->addAttr(clang::AnnotateAttr::CreateImplicit(decl->getASTContext(), text, nullptr, 0));
}

bool has_note(const clang::Decl* decl) {
  for (const auto* attribute : decl->specific_attrs<clang::AnnotateAttr>())
    if (attribute->getAnnotation().starts_with(kVariableNote)) return true;
  return false;
}

class VariableVisitor : public clang::DynamicRecursiveASTVisitor {
public:
  VariableVisitor(const Places& places, clang::ASTContext& context) : places_(places), context_(context) {}

  // A structured binding may have a variable of its own behind it, which no walk comes across.
  bool VisitBindingDecl(clang::BindingDecl* binding) override {
    if (clang::VarDecl* holder = binding->getHoldingVar()) VisitVarDecl(holder);
    return true;
  }

  bool VisitVarDecl(clang::VarDecl* variable) override {
    Place place = places_.find(variable->getLocation());
    if (!place.file) return true;
    if (place.region != 0 || variable->getName().starts_with("__rdb_")) {
      if (variable->hasGlobalStorage())
        annotate(variable, kDebugOnly);
      else if (variable->isLocalVarDecl())
        annotate(variable, kDebugLocal);
      return true;
    }
    if (!variable->isLocalVarDeclOrParm() || variable->hasGlobalStorage() || has_note(variable)) return true;
    clang::PrintingPolicy policy(context_.getLangOpts());
    policy.SuppressTagKeyword = context_.getLangOpts().CPlusPlus;
    annotate(variable,
             fmt::format("{}{}|{}|{}|{}|{}", kVariableNote, place.file->id, place.line, place.column,
                         variable->getNameAsString(), variable->getType().getAsString(policy)));
    return true;
  }

private:
  const Places& places_;
  clang::ASTContext& context_;
};

// Static variables inside debug-only functions are debug-only themselves.
class StaticVisitor : public clang::DynamicRecursiveASTVisitor {
public:
  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (variable->isStaticLocal()) annotate(variable, kDebugOnly);
    return true;
  }
};

class DeclarationConsumer : public clang::ASTConsumer {
public:
  DeclarationConsumer(clang::CompilerInstance& compiler, const RegionFiles& files, ViewKind kind,
                      Captures& captures)
      : compiler_(compiler), kind_(kind), places_(files, compiler.getSourceManager(), kind),
        captures_(captures) {}

  void Initialize(clang::ASTContext& context) override { context_ = &context; }

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* decl : group)
      handle(decl);
    return true;
  }
  void HandleInlineFunctionDefinition(clang::FunctionDecl* function) override { handle(function); }
  void HandleTopLevelDeclInObjCContainer(clang::DeclGroupRef) override {}

private:
  void handle(clang::Decl* decl) {
    if (kind_ == ViewKind::kModule) check_debug_only(*decl, places_, compiler_.getDiagnostics());
    if (auto* space = llvm::dyn_cast<clang::NamespaceDecl>(decl)) {
      for (clang::Decl* member : space->decls())
        handle(member);
      return;
    }
    if (auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(decl)) {
      for (clang::Decl* member : linkage->decls())
        handle(member);
      return;
    }
    if (auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) decl = pattern->getTemplatedDecl();
    if (auto* pattern = llvm::dyn_cast<clang::ClassTemplateDecl>(decl)) decl = pattern->getTemplatedDecl();
    if (auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(decl)) {
      for (clang::Decl* member : record->decls())
        if (!member->isImplicit()) handle(member);
      return;
    }
    if (is_show_instance(decl)) complete_show_calls(*decl, *context_);
    Place begin = places_.find(decl->getBeginLoc());
    if (!begin.file) return;
    auto* named = llvm::dyn_cast<clang::NamedDecl>(decl);
    if (named && (begin.region != 0 || is_debug_code(*named))) {
      if (llvm::isa<clang::FunctionDecl, clang::VarDecl>(decl)) annotate(decl, kDebugOnly);
      if (seen_.insert(decl).second) {
        StaticVisitor().TraverseDecl(decl);
        complete_show_calls(*decl, *context_);
      }
      return;
    }
    Place end = places_.find(decl->getEndLoc());
    if (!has_region_between(begin, end) || !seen_.insert(decl).second) return;
    VariableVisitor(places_, *context_).TraverseDecl(decl);
    complete_show_calls(*decl, *context_);
    if (kind_ == ViewKind::kModule)
      if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl))
        check_region_rules(*function, places_, compiler_.getDiagnostics(), captures_, refused_captures_);
  }

  // An instance of one of the templates in <rdb/show.h>.
  static bool is_show_instance(const clang::Decl* decl) {
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl);
    if (function == nullptr || !function->isTemplateInstantiation()) return false;
    const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(function->getDeclContext());
    return space != nullptr && space->getIdentifier() != nullptr && space->getName() == "__rdb";
  }

  static bool has_region_between(const Place& begin, const Place& end) {
    if (begin.file != end.file) return true;
    const auto& regions = begin.file->scan.regions; // in the order of their lines
    auto first = std::ranges::lower_bound(regions, begin.line, {}, &source::Region::begin_line);
    return first != regions.end() && first->end_line <= end.line;
  }

  clang::CompilerInstance& compiler_;
  clang::ASTContext* context_ = nullptr;
  ViewKind kind_;
  Places places_;
  Captures& captures_;
  std::set<const clang::Decl*> seen_;
  std::set<clang::SourceLocation> refused_captures_;
};

} // namespace

std::unique_ptr<clang::ASTConsumer> make_declaration_consumer(clang::CompilerInstance& compiler,
                                                              const RegionFiles& files, ViewKind kind,
                                                              Captures& captures) {
  return std::make_unique<DeclarationConsumer>(compiler, files, kind, captures);
}

} // namespace rdb::extractor
