// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Declarations that are debug code by their name or attribute leave the program as lines of text
// (source/debug_declarations.h), before anything is parsed. Here, where clang has parsed them, it is made
// sure that exactly they did.
#pragma once

#include "llvm-passes/extractor/region_rules.h"

#include "llvm/ADT/StringRef.h"

namespace clang {
class Decl;
class NamedDecl;
} // namespace clang

namespace rdb::extractor {

// By its own name, or by the attribute annotate("rdb") as the user wrote it.
bool is_debug_code(const clang::NamedDecl& decl);

// What shows that it is: "name" or "attribute".
llvm::StringRef debug_sign(const clang::NamedDecl& decl);

// Refuses debug code that stays in the program, in whole or in part, and code of the program that leaves with
// debug code. For declarations at file scope; on the module view.
void check_debug_only(clang::Decl& decl, const Places& places, clang::DiagnosticsEngine& diagnostics);

} // namespace rdb::extractor
