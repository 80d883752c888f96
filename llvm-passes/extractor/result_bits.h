// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bits of a structure mean anything. A small one is returned in registers, and what a register has for
// the padding between its members is whatever was there before: two runs of the same function need not agree.
#pragma once

#include <vector>

namespace clang {
class ASTContext;
class FunctionDecl;
} // namespace clang

namespace rdb::extractor {

// By bit of the function's result, the lowest first; empty if that is no structure.
std::vector<bool> result_bits(const clang::ASTContext& context, const clang::FunctionDecl& function);

} // namespace rdb::extractor
