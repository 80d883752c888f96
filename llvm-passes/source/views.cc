// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the views of a scanned file (regions.h). All of them keep whole lines and put `#line` where a
// view's own lines would otherwise get out of step with M0's.
#include "llvm-passes/source/lines.h"
#include "llvm-passes/source/regions.h"

#include <algorithm>
#include <set>

namespace rdb::source {

namespace {

// A text as lines, each with its newline if it has one.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t newline = text.find('\n');
    size_t size = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

// Builds a view line by line.
class Builder {
public:
  void add(std::string_view line, unsigned edited_line) {
    end_line();
    view_.text += line;
    view_.edited_lines.push_back(edited_line);
  }
  void add_made_up(const std::string& line, unsigned edited_line = 0) { add(line + "\n", edited_line); }
  void add_line_directive(unsigned number) { add_made_up("#line " + std::to_string(number)); }
  View take() { return std::move(view_); }

private:
  // The last line of a file may lack its newline.
  void end_line() {
    if (!view_.text.empty() && view_.text.back() != '\n') view_.text += '\n';
  }
  View view_;
};

// The number that M0's compile gives to a line of M0: the file may have `#line` directives of its own.
class PresumedLines {
public:
  PresumedLines(const std::vector<Line>& lines, const LineMap& map) {
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].directive != Directive::kLine || lines[i].line_number == 0) continue;
      if (auto stripped = map.to_stripped(static_cast<unsigned>(i + 1)))
        directives_.push_back({*stripped, lines[i].line_number});
    }
  }
  unsigned operator()(unsigned stripped) const {
    auto after = std::ranges::lower_bound(directives_, stripped, {}, &Given::at);
    if (after == directives_.begin()) return stripped;
    const Given& given = *std::prev(after);
    return given.number + (stripped - given.at - 1);
  }

private:
  struct Given {
    unsigned at, number;
  };
  std::vector<Given> directives_;
};

std::string marker_line(std::string_view original, const MarkerText& replacement, const Region& region) {
  if (!replacement) return std::string(original);
  return replacement(region) + "\n";
}

} // namespace

std::string stripped_text(std::string_view text, const Scan& scan) {
  std::string result;
  result.reserve(text.size());
  std::vector<std::string_view> lines = split(text);
  size_t next = 0;
  for (const LineRange& range : scan.lines.removed()) {
    for (; next + 1 < range.first && next < lines.size(); ++next)
      result += lines[next];
    next = range.last;
  }
  for (; next < lines.size(); ++next)
    result += lines[next];
  return result;
}

View module_text(std::string_view text, const Scan& scan, const MarkerText& begin, const MarkerText& end,
                 const Insertions& insertions) {
  std::vector<std::string_view> lines = split(text);
  PresumedLines presumed(lex_lines(text), scan.lines);
  std::set<unsigned> open_guard_lines;
  for (const Guard& guard : scan.guards)
    if (!guard.constant_false) open_guard_lines.insert({guard.if_line, guard.endif_line});
  Builder view;
  auto range = scan.lines.removed().begin();
  auto region = scan.regions.begin();
  for (unsigned number = 1; number <= lines.size(); ++number) {
    bool in_range = range != scan.lines.removed().end() && number >= range->first;
    if (in_range && number == range->first) view.add_line_directive(number);
    if (region != scan.regions.end() && !region->marked && number >= region->begin_line) {
      view.add(lines[number - 1], number);
      if (number == region->end_line) ++region;
    } else if (region != scan.regions.end() && number == region->begin_line) {
      view.add(marker_line(lines[number - 1], begin, *region), number);
    } else if (region != scan.regions.end() && number == region->end_line) {
      view.add(marker_line(lines[number - 1], end, *region), number);
      ++region;
    } else if (in_range && open_guard_lines.contains(number)) {
      view.add("\n", number);
    } else {
      std::string line(lines[number - 1]);
      for (auto next = insertions.lower_bound({number, 0});
           next != insertions.end() && next->first.first == number; ++next) {
        size_t column = next->first.second - 1;
        if (column > line.size()) break;
        view.add(line.substr(0, column) + "\n", number);
        view.add_made_up(next->second, number);
        view.add_line_directive(presumed(scan.lines.next_stripped(number)));
        std::fill_n(line.begin(), column, ' ');
      }
      view.add(line, number);
    }
    if (in_range && number == range->last) {
      view.add_line_directive(presumed(scan.lines.next_stripped(number + 1)));
      ++range;
    }
  }
  return view.take();
}

View label_text(std::string_view text, const Scan& scan, const MarkerText& label) {
  std::vector<std::string_view> lines = split(text);
  PresumedLines presumed(lex_lines(text), scan.lines);
  Builder view;
  auto region = scan.regions.begin();
  auto labels_before = [&](unsigned edited_line) {
    std::string labels;
    for (; region != scan.regions.end() && region->end_line < edited_line; ++region)
      if (region->kind == RegionKind::kBody) labels += label(*region);
    return labels;
  };
  for (unsigned number = 1; number <= lines.size(); ++number) {
    if (scan.lines.is_removed(number)) continue;
    std::string labels = labels_before(number);
    if (!labels.empty()) {
      view.add_made_up(labels, number);
      view.add_line_directive(presumed(scan.lines.next_stripped(number)));
    }
    view.add(lines[number - 1], number);
  }
  std::string labels = labels_before(static_cast<unsigned>(lines.size()) + 1);
  if (!labels.empty()) view.add_made_up(labels, static_cast<unsigned>(lines.size()));
  return view.take();
}

} // namespace rdb::source
