// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a type down as a short text by which the debug module's library shows a value of it, fields, names
// of enumerators and all: C has no other way to ask a type what it is made of. runtime-libs/module/show.c
// reads the text; its grammar stands there.
#pragma once

#include <string>

namespace clang {
class ASTContext;
class QualType;
} // namespace clang

namespace rdb::extractor {

// Begins with how far pointers are followed from the value: 0 not at all, 1 to what they point to, 2 further.
std::string type_text(clang::QualType type, const clang::ASTContext& context);

} // namespace rdb::extractor
