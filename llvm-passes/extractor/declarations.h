// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The front end's part of extraction. Program variables of functions with regions get an annotation that
// names them by their place in the edited source, so that the two compiles (with the regions, with markers)
// agree on what is the same variable without any debug information. Debug-only functions and objects get the
// annotation "rdb". And what a region must not do is refused here, where clang knows the line and column.
#pragma once

#include "llvm-passes/extractor/captures.h"
#include "llvm-passes/extractor/region_files.h"

#include "clang/AST/ASTConsumer.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace clang {
class CompilerInstance;
} // namespace clang

namespace rdb::extractor {

// A program variable, as its annotation says it: "rdb.var|file|line|column|name|type", where file, line and
// column are of the edited source and together with the name are the key.
struct VariableNote {
  std::string key;
  std::string name;
  std::string type;
};

inline constexpr const char* kVariableNote = "rdb.var|";
inline constexpr const char* kDebugOnly = "rdb";
inline constexpr const char* kDebugLocal = "rdb.own"; // a local variable that debug code declares

VariableNote parse_variable_note(llvm::StringRef text);

// A consumer that must see declarations before code generation does. `kind` says which view is compiled;
// refusals are made on the module view only.
std::unique_ptr<clang::ASTConsumer> make_declaration_consumer(clang::CompilerInstance& compiler,
                                                              const RegionFiles& files, ViewKind kind,
                                                              Captures& captures);

} // namespace rdb::extractor
