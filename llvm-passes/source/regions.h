// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the debug regions of a source file by its text alone, and makes the views of the file that the
// compiles need: without its regions (M0), with them and `#line` after each (M1), and M0 with a label where
// each region stood. It lexes comments, strings, raw strings and continued lines as the compiler does, so
// that a marker is a marker only where the compiler would see one.
#pragma once

#include "llvm-passes/source/line_map.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdb::source {

enum class RegionKind { kBody, kGlobals };

// An `#if`/`#ifdef`/`#ifndef` and its `#endif` that enclose nothing but regions. The pair leaves with them in
// M0 and is taken as true in M1, unless it is `#if 0`.
struct Guard {
  unsigned if_line;
  unsigned endif_line;
  bool constant_false; // #if 0: the regions inside are not compiled
};

struct Region {
  unsigned number; // 1, 2 ... in the order of the file; body and globals regions share the numbers
  RegionKind kind;
  unsigned begin_line; // of the edited file: the lines with the markers
  unsigned end_line;
  unsigned begin_column;      // of the marker, 1-based
  unsigned stripped_line;     // line of M0 that follows the region (one past the last at the end of the file)
  std::optional<Guard> guard; // the innermost pair removed with it
  bool marked = true;         // false: a declaration that is debug code by its name or attribute
  // Nothing but it stands between two labels of a switch: in M0 they are one place.
  bool between_cases = false;
};

// A mistake that the text alone shows. `line` and `column` are of the edited file.
struct Diagnostic {
  unsigned line;
  unsigned column;
  std::string message; // without "error:", e.g. "rdb_begin without rdb_end"
};

struct Scan {
  std::vector<Region> regions;
  std::vector<Guard> guards;           // every removed pair, outermost first
  std::vector<unsigned> include_lines; // removed includes of rdb's header, also inside removed pairs
  std::vector<Diagnostic> diagnostics;
  LineMap lines;

  // Nothing to strip and nothing to say: the file is to be used as it is.
  bool untouched() const { return lines.removed().empty() && diagnostics.empty(); }
};

// Decides whether `#include <spelled>` (angled) or `#include "spelled"` means rdb's own header; asked only
// for names whose last parts are rdb/rdb.h.
using IsOwnHeader = std::function<bool(std::string_view spelled, bool angled)>;

// Could the text contain anything of rdb? One pass of memmem: what a file without regions costs.
bool may_have_regions(std::string_view text);

// Scans a C or C++ source text. Not to be used on rdb's own header. With `is_own_header` empty, every
// include of rdb/rdb.h counts as ours.
Scan scan(std::string_view text, const IsOwnHeader& is_own_header = {});

// M0: the text without the removed lines.
std::string stripped_text(std::string_view text, const Scan& scan);

// A view whose lines are not in step with the edited file: edited_lines[i] is the edited file's line of the
// view's physical line i+1 (0 for lines made up for the view).
struct View {
  std::string text;
  std::vector<unsigned> edited_lines;
};

// M1: regions stay, with edited line numbers inside (`#line`), M0's line numbers outside; the lines of guards
// that are taken as true are emptied. `begin` and `end` give the text that replaces the marker lines of a
// region (no newlines in it); an empty function keeps the marker itself.
// `insertions` puts text between two characters of the program: as a line of its own, with the rest of the
// divided line in its columns on the next one.
using MarkerText = std::function<std::string(const Region&)>;
using Insertions =
    std::map<std::pair<unsigned, unsigned>, std::string>; // by edited line and column (1-based)
View module_text(std::string_view text, const Scan& scan, const MarkerText& begin = {},
                 const MarkerText& end = {}, const Insertions& insertions = {});

// The descriptor compile's view: M0 with label(region) on a line of its own before the line that follows each
// body region, then `#line`: lines and columns of the program's own text stay M0's. A region whose label text
// is empty gets none.
View label_text(std::string_view text, const Scan& scan, const MarkerText& label);

} // namespace rdb::source
