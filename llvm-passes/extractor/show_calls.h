// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Completes the calls that <rdb/show.h> makes: the library's function gets the address of the value, and a
// text that says what its type is.
#pragma once

namespace clang {
class ASTContext;
class Decl;
} // namespace clang

namespace rdb::extractor {

// Rewrites the calls inside a declaration; before code is generated for it.
void complete_show_calls(clang::Decl& decl, clang::ASTContext& context);

} // namespace rdb::extractor
