// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Declarations at file scope that are debug code by themselves, without markers around them: those of names
// that begin with __rdb_, and those with the attribute annotate("rdb").
#pragma once

#include <string_view>
#include <vector>

namespace rdb::source {

struct DebugDeclaration {
  unsigned begin_line;
  unsigned begin_column;
  unsigned end_line;
  bool alone = true;        // nothing else stands on its lines
  bool conditional = false; // a preprocessing directive stands inside
  bool in_macro = false;    // only the attribute, in the definition of a macro
};

// In their order. `text` is C or C++.
std::vector<DebugDeclaration> find_debug_declarations(std::string_view text);

} // namespace rdb::source
