// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lexes a C or C++ text far enough to say, line by line, what matters for regions: is there a marker, is
// there other code, which directive is it, does a comment, string or continued line cross its ends.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace rdb::source {

enum class Marker { kNone, kBegin, kEnd, kBeginGlobals, kEndGlobals };

enum class Directive { kNone, kIf, kElse, kEndif, kDefine, kInclude, kLine, kOther };

struct Line {
  size_t begin = 0; // offsets in the text; `end` is that of the newline
  size_t end = 0;

  Marker marker = Marker::kNone; // the first on this line
  unsigned marker_column = 0;    // 1-based
  unsigned markers = 0;
  bool other_code = false; // anything but one marker, one `;` after it, and comments

  Directive directive = Directive::kNone; // of the line with the `#`
  bool in_directive = false;              // that line and those it is continued on
  bool in_define = false;
  bool constant_false = false;   // #if 0
  std::string_view include_name; // without the quotes or brackets
  bool include_angled = false;
  unsigned line_number = 0; // of `#line N` and `# N`, 0 if it is not plain digits

  bool begins_inside = false; // of a comment or string, or continues the line above
  bool ends_inside = false;
};

std::string_view marker_name(Marker marker);

// The lines of a text; a last line without newline counts, an empty one after the last newline does not.
std::vector<Line> lex_lines(std::string_view text);

} // namespace rdb::source
