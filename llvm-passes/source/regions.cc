// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds regions and what leaves the file with them. One walk over the lexed lines keeps the open region and
// the stack of open conditionals; a conditional that turns out to enclose nothing but regions becomes a
// guard.
#include "llvm-passes/source/regions.h"

#include "llvm-passes/source/debug_declarations.h"
#include "llvm-passes/source/lines.h"

#include <algorithm>
#include <cstring>

namespace rdb::source {

namespace {

bool is_begin(Marker marker) {
  return marker == Marker::kBegin || marker == Marker::kBeginGlobals;
}

bool names_own_header(std::string_view name) {
  return name == "rdb/rdb.h" || name.ends_with("/rdb/rdb.h");
}

class Scanner {
public:
  Scanner(std::string_view text, const IsOwnHeader& is_own_header)
      : text_(text), lines_(lex_lines(text)), declarations_(find_debug_declarations(text)),
        is_own_header_(is_own_header) {}

  Scan run() {
    for (number_ = 1; number_ <= lines_.size(); ++number_) {
      if (open_)
        inside_region();
      else if (!take_declaration())
        outside_region();
    }
    if (open_) {
      complain(open_->begin_line, open_->begin_column,
               std::string(open_marker()) + " without " + closing_marker());
    }
    finish();
    return std::move(scan_);
  }

private:
  struct Conditional {
    unsigned if_line;
    bool constant_false;
    bool regions = false;      // the current branch has some
    bool other = false;        // ... and other code
    unsigned else_line = 0;    // the first #else or #elif
    bool regions_only = false; // some branch has regions and nothing else
  };

  const Line& line() const { return lines_[number_ - 1]; }

  void complain(unsigned line, unsigned column, std::string message) {
    scan_.diagnostics.push_back({line, column, std::move(message)});
  }

  std::string_view open_marker() const {
    return marker_name(open_->kind == RegionKind::kBody ? Marker::kBegin : Marker::kBeginGlobals);
  }
  std::string closing_marker() const {
    return std::string(marker_name(open_->kind == RegionKind::kBody ? Marker::kEnd : Marker::kEndGlobals));
  }

  // Says what is wrong with how a marker stands on its line; true if nothing is.
  bool stands_well() {
    const Line& at = line();
    std::string name(marker_name(at.marker));
    std::string fault;
    if (at.in_define)
      fault = "'" + name + "' inside a macro definition";
    else if (at.in_directive)
      fault = "'" + name + "' in a preprocessing directive";
    else if (at.other_code || at.markers > 1)
      fault = "'" + name + "' must stand alone on its line";
    else if (at.begins_inside)
      fault = "'" + name + "' on a line that continues the one before it; it must stand alone";
    else if (at.ends_inside)
      fault = "'" + name + "' on a line that is continued on the next one; it must stand alone";
    if (fault.empty()) return true;
    if (!in_constant_false()) complain(number_, at.marker_column, fault);
    return false;
  }

  // Text under `#if 0` is not looked at by the compiler: what is said there about markers is prose.
  bool in_constant_false() const {
    return std::ranges::any_of(conditionals_,
                               [](const Conditional& c) { return c.constant_false && c.else_line == 0; });
  }

  void inside_region() {
    const Line& at = line();
    if (at.marker != Marker::kNone && stands_well()) {
      if (is_begin(at.marker)) {
        complain(number_, at.marker_column,
                 "'" + std::string(marker_name(at.marker)) + "' inside the region that begins at line " +
                     std::to_string(open_->begin_line) + "; regions cannot be nested");
      } else if (marker_name(at.marker) != closing_marker()) {
        complain(number_, at.marker_column,
                 "'" + std::string(marker_name(at.marker)) + "' ends a region that '" +
                     std::string(open_marker()) + "' began at line " + std::to_string(open_->begin_line));
        close_region();
      } else {
        close_region();
      }
      return;
    }
    if (at.directive == Directive::kIf) ++depth_;
    if (at.directive == Directive::kEndif || at.directive == Directive::kElse) {
      if (depth_ == 0) {
        complain(number_, 1,
                 std::string(at.directive == Directive::kElse ? "#else or #elif" : "#endif") +
                     " inside the region that begins at line " + std::to_string(open_->begin_line) +
                     " belongs to a conditional outside of it");
      } else if (at.directive == Directive::kEndif) {
        --depth_;
      }
    }
  }

  // A declaration that is debug code by itself is a region without markers.
  bool take_declaration() {
    while (next_declaration_ < declarations_.size() && declarations_[next_declaration_].begin_line < number_)
      ++next_declaration_; // it stands in a region
    if (next_declaration_ == declarations_.size() || declarations_[next_declaration_].begin_line != number_)
      return false;
    const DebugDeclaration& declaration = declarations_[next_declaration_++];
    std::string fault;
    if (declaration.in_macro)
      fault = "annotate(\"rdb\") inside a macro definition; write it where the macro is used";
    else if (!declaration.alone || lines_[number_ - 1].begins_inside ||
             lines_[declaration.end_line - 1].ends_inside)
      fault = "a debug-only declaration must stand alone on its lines";
    else if (declaration.conditional)
      fault = "a preprocessing directive inside a debug-only declaration; put rdb_begin_globals and "
              "rdb_end_globals around it instead";
    for (unsigned i = number_; i <= declaration.end_line && fault.empty(); ++i)
      if (lines_[i - 1].marker != Marker::kNone)
        fault = "'" + std::string(marker_name(lines_[i - 1].marker)) + "' inside a debug-only declaration";
    if (!fault.empty()) {
      if (!in_constant_false()) complain(number_, declaration.begin_column, fault);
      return false;
    }
    Region region{static_cast<unsigned>(scan_.regions.size() + 1),
                  RegionKind::kGlobals,
                  number_,
                  declaration.end_line,
                  declaration.begin_column,
                  0,
                  {},
                  /*marked=*/false};
    scan_.regions.push_back(region);
    removed_.push_back({region.begin_line, region.end_line});
    number_ = declaration.end_line;
    note_region();
    return true;
  }

  void close_region() {
    if (depth_ != 0)
      complain(open_->begin_line, open_->begin_column,
               "a conditional opened inside this region is not closed before its end at line " +
                   std::to_string(number_));
    open_->end_line = number_;
    scan_.regions.push_back(*open_);
    removed_.push_back({open_->begin_line, open_->end_line});
    open_.reset();
    note_region();
  }

  void note_region() {
    if (!conditionals_.empty()) conditionals_.back().regions = true;
  }
  void note_other() {
    if (!conditionals_.empty()) conditionals_.back().other = true;
  }

  void outside_region() {
    const Line& at = line();
    if (at.marker != Marker::kNone) {
      if (!stands_well()) return note_other();
      if (is_begin(at.marker)) {
        RegionKind kind = at.marker == Marker::kBegin ? RegionKind::kBody : RegionKind::kGlobals;
        open_ = Region{
            static_cast<unsigned>(scan_.regions.size() + 1), kind, number_, 0, at.marker_column, 0, {}};
        depth_ = 0;
      } else {
        complain(
            number_, at.marker_column,
            "'" + std::string(marker_name(at.marker)) + "' without '" +
                std::string(marker_name(at.marker == Marker::kEnd ? Marker::kBegin : Marker::kBeginGlobals)) +
                "'");
        note_other();
      }
      return;
    }
    switch (at.directive) {
    case Directive::kIf:
      conditionals_.push_back({number_, at.constant_false});
      return;
    case Directive::kElse:
      if (!conditionals_.empty()) end_branch(conditionals_.back());
      return;
    case Directive::kEndif:
      if (!conditionals_.empty()) end_conditional();
      return;
    case Directive::kInclude:
      if (names_own_header(at.include_name) && !at.begins_inside && !at.ends_inside &&
          (!is_own_header_ || is_own_header_(at.include_name, at.include_angled))) {
        scan_.include_lines.push_back(number_);
        removed_.push_back({number_, number_});
        return note_region();
      }
      return note_other();
    default:
      if (at.other_code || at.directive != Directive::kNone) note_other();
    }
  }

  void end_branch(Conditional& conditional) {
    if (conditional.regions && !conditional.other) conditional.regions_only = true;
    if (conditional.else_line == 0) conditional.else_line = number_;
    conditional.regions = conditional.other = false;
  }

  void end_conditional() {
    Conditional conditional = conditionals_.back();
    conditionals_.pop_back();
    bool only = conditional.regions && !conditional.other;
    if (conditional.else_line != 0) {
      if (only || conditional.regions_only)
        complain(conditional.else_line, 1,
                 "#else beside a branch that has nothing but regions (conditional at line " +
                     std::to_string(conditional.if_line) +
                     "); put the other branch into a conditional of its own");
      return note_other();
    }
    if (!only) return note_other();
    if (lines_[conditional.if_line - 1].begins_inside || line().ends_inside) {
      complain(number_, 1, "a comment or continued line crosses the conditional around a region");
      return note_other();
    }
    scan_.guards.push_back({conditional.if_line, number_, conditional.constant_false});
    removed_.push_back({conditional.if_line, number_});
    note_region();
  }

  // The lines of M0 with code on them.
  std::vector<unsigned> find_code_lines() const {
    std::vector<unsigned> found;
    for (unsigned number = 1; number <= lines_.size(); ++number) {
      const Line& line = lines_[number - 1];
      if ((line.other_code || line.in_directive) && !scan_.lines.is_removed(number)) found.push_back(number);
    }
    return found;
  }

  // What stands on a line, without spaces and comments around it.
  std::string_view code_on(unsigned number) const {
    const Line& line = lines_[number - 1];
    if (line.in_directive || line.begins_inside || line.ends_inside) return {};
    std::string_view code = text_.substr(line.begin, line.end - line.begin);
    code = code.substr(0, std::min(code.find("//"), code.find("/*")));
    size_t first = code.find_first_not_of(" \t\r");
    size_t last = code.find_last_not_of(" \t\r");
    return first == std::string_view::npos ? code : code.substr(first, last - first + 1);
  }

  static bool ends_label(std::string_view code) {
    return code.ends_with(':') && (begins_case(code) || code.find("case ") != std::string_view::npos);
  }

  static bool begins_case(std::string_view code) {
    for (std::string_view word : {"case", "default"})
      if (code.starts_with(word)) return code.find_first_of(" \t:('") == word.size();
    return false;
  }

  void finish() {
    scan_.lines = LineMap(std::move(removed_));
    std::ranges::sort(scan_.guards, {}, &Guard::if_line);
    std::vector<unsigned> code_lines = find_code_lines();
    auto guard = scan_.guards.begin();
    std::vector<Guard> around; // the current region, innermost last
    for (Region& region : scan_.regions) {
      region.stripped_line = scan_.lines.next_stripped(region.end_line + 1);
      auto next = std::ranges::upper_bound(code_lines, region.begin_line);
      region.between_cases = next != code_lines.begin() && next != code_lines.end() &&
                             ends_label(code_on(*std::prev(next))) && begins_case(code_on(*next));
      for (; guard != scan_.guards.end() && guard->if_line < region.begin_line; ++guard) {
        while (!around.empty() && around.back().endif_line < guard->if_line)
          around.pop_back();
        around.push_back(*guard);
      }
      while (!around.empty() && around.back().endif_line < region.end_line)
        around.pop_back();
      if (!around.empty()) region.guard = around.back();
    }
    std::ranges::sort(scan_.diagnostics, {}, &Diagnostic::line);
  }

  std::string_view text_;
  std::vector<Line> lines_;
  std::vector<DebugDeclaration> declarations_;
  size_t next_declaration_ = 0;
  const IsOwnHeader& is_own_header_;
  unsigned number_ = 0;
  std::optional<Region> open_;
  unsigned depth_ = 0; // conditionals opened inside the open region
  std::vector<Conditional> conditionals_;
  std::vector<LineRange> removed_;
  Scan scan_;
};

} // namespace

bool may_have_regions(std::string_view text) {
  const char* at = text.data();
  const char* end = at + text.size();
  while (const void* hit = memmem(at, static_cast<size_t>(end - at), "rdb", 3)) {
    at = static_cast<const char*>(hit) + 3;
    std::string_view rest(at, static_cast<size_t>(end - at));
    // A marker may be split by a joined line: any rdb_ is worth the lexer.
    if (rest.starts_with("_") || rest.starts_with("\"") || rest.starts_with("/rdb.h") ||
        rest.starts_with("\\"))
      return true;
  }
  return false;
}

Scan scan(std::string_view text, const IsOwnHeader& is_own_header) {
  if (!may_have_regions(text)) return {};
  return Scanner(text, is_own_header).run();
}

} // namespace rdb::source
