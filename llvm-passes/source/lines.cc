// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See lines.h. The lexer walks the text once. A backslash at the end of a line joins it to the next one
// before anything else is decided (but not in raw strings), as the standards say and clang does.
#include "llvm-passes/source/lines.h"

#include <array>
#include <cctype>
#include <string>

namespace rdb::source {

namespace {

struct MarkerName {
  Marker marker;
  std::string_view name;
};
constexpr std::array kMarkers = {
    MarkerName{Marker::kBegin, "rdb_begin"},
    MarkerName{Marker::kEnd, "rdb_end"},
    MarkerName{Marker::kBeginGlobals, "rdb_begin_globals"},
    MarkerName{Marker::kEndGlobals, "rdb_end_globals"},
};

bool is_identifier_start(char c) {
  unsigned char u = static_cast<unsigned char>(c);
  return std::isalpha(u) || c == '_' || c == '$' || u >= 0x80;
}
bool is_identifier(char c) {
  return is_identifier_start(c) || std::isdigit(static_cast<unsigned char>(c));
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

Directive directive_of(std::string_view name) {
  if (name == "if" || name == "ifdef" || name == "ifndef") return Directive::kIf;
  if (name == "else" || name == "elif" || name == "elifdef" || name == "elifndef") return Directive::kElse;
  if (name == "endif") return Directive::kEndif;
  if (name == "define") return Directive::kDefine;
  if (name == "include" || name == "include_next" || name == "import") return Directive::kInclude;
  if (name == "line") return Directive::kLine;
  return Directive::kOther;
}

class LineLexer {
public:
  explicit LineLexer(std::string_view text) : text_(text) {}

  std::vector<Line> run() {
    lines_.emplace_back();
    if (text_.starts_with("\xef\xbb\xbf")) pos_ = 3;
    while (!at_end())
      step();
    lines_.back().end = text_.size();
    if (lines_.back().begin == text_.size() && !lines_.back().begins_inside) lines_.pop_back();
    return std::move(lines_);
  }

private:
  Line& line() { return lines_.back(); }

  // Skips joined line ends, so that peek() sees the next character of the logical line.
  void join() {
    while (pos_ < text_.size() && text_[pos_] == '\\') {
      size_t end = pos_ + 1;
      while (end < text_.size() && is_blank(text_[end]))
        ++end;
      if (end >= text_.size() || text_[end] != '\n') return;
      pos_ = end;
      break_line(Crossing::kJoined);
    }
  }

  bool at_end() {
    join();
    return pos_ >= text_.size();
  }
  char peek() {
    join();
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }
  char take() {
    char c = peek();
    if (pos_ < text_.size()) ++pos_;
    return c;
  }
  // The character after peek(), without joining lines: enough to tell comments and prefixes.
  char peek_second() {
    join();
    size_t next = pos_ + 1;
    while (next < text_.size() && text_[next] == '\\') {
      size_t end = next + 1;
      while (end < text_.size() && is_blank(text_[end]))
        ++end;
      if (end >= text_.size() || text_[end] != '\n') break;
      next = end + 1;
    }
    return next < text_.size() ? text_[next] : '\0';
  }

  enum class Crossing { kNone, kJoined, kInside };

  // pos_ is at a newline: starts the next line.
  void break_line(Crossing crossing) {
    Line next;
    line().end = pos_;
    ++pos_;
    next.begin = pos_;
    if (crossing != Crossing::kNone) {
      line().ends_inside = true;
      next.begins_inside = true;
      next.in_directive = line().in_directive;
      next.in_define = line().in_define;
    } else {
      fresh_ = true;
    }
    lines_.push_back(next);
  }

  void step() {
    char c = peek();
    if (c == '\n') return break_line(Crossing::kNone);
    if (is_blank(c)) {
      ++pos_;
      return;
    }
    if (c == '/' && peek_second() == '/') return line_comment();
    if (c == '/' && peek_second() == '*') return block_comment();
    if (fresh_ && (c == '#' || (c == '%' && peek_second() == ':'))) return directive();
    fresh_ = false;
    if (is_identifier_start(c)) return identifier();
    if (c == '"' || c == '\'') return literal(c);
    if (std::isdigit(static_cast<unsigned char>(c)) ||
        (c == '.' && std::isdigit(static_cast<unsigned char>(peek_second()))))
      return number();
    ++pos_;
    bool closes_marker = c == ';' && line().marker != Marker::kNone && !semicolon_seen_;
    if (closes_marker)
      semicolon_seen_ = true;
    else
      line().other_code = true;
  }

  void line_comment() {
    while (!at_end() && peek() != '\n')
      ++pos_;
  }

  void block_comment() {
    take();
    take();
    while (pos_ < text_.size()) {
      join();
      if (pos_ >= text_.size()) return;
      if (text_[pos_] == '\n') {
        break_line(Crossing::kInside);
        continue;
      }
      if (text_[pos_] == '*' && peek_second() == '/') {
        take();
        take();
        return;
      }
      ++pos_;
    }
  }

  void literal(char quote) {
    line().other_code = true;
    take();
    while (!at_end() && peek() != '\n') {
      char c = take();
      if (c == quote) return;
      if (c == '\\' && !at_end() && peek() != '\n') take();
    }
  }

  // pos_ is behind the R, at the quote.
  void raw_string() {
    line().other_code = true;
    size_t open = text_.find('(', pos_);
    if (open == std::string_view::npos || open - pos_ > 17) return literal('"');
    std::string close = ")" + std::string(text_.substr(pos_ + 1, open - pos_ - 1)) + "\"";
    if (close.find_first_of(" \n\t\\") != std::string::npos) return literal('"');
    size_t stop = text_.find(close, open);
    size_t end = stop == std::string_view::npos ? text_.size() : stop + close.size();
    for (pos_ = open; pos_ < end;) {
      if (text_[pos_] == '\n')
        break_line(Crossing::kInside);
      else
        ++pos_;
      line().other_code = true;
    }
  }

  void number() {
    line().other_code = true;
    char previous = take();
    while (!at_end()) {
      char c = peek();
      bool sign = (c == '+' || c == '-') &&
                  (previous == 'e' || previous == 'E' || previous == 'p' || previous == 'P');
      bool separator = c == '\'' && is_identifier(peek_second());
      if (!is_identifier(c) && c != '.' && !sign && !separator) return;
      previous = take();
    }
  }

  std::string take_identifier() {
    std::string name;
    while (!at_end() && is_identifier(peek()))
      name += take();
    return name;
  }

  void identifier() {
    unsigned column = static_cast<unsigned>(pos_ - line().begin + 1);
    size_t line_index = lines_.size() - 1;
    std::string name = take_identifier();
    if (pos_ < text_.size() && text_[pos_] == '"' &&
        (name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R"))
      return raw_string();
    Line& at = lines_[line_index];
    for (const MarkerName& known : kMarkers) {
      if (name != known.name) continue;
      if (at.markers++ == 0) {
        at.marker = known.marker;
        at.marker_column = column;
        semicolon_seen_ = false;
      }
      return;
    }
    at.other_code = true;
  }

  void skip_blanks() {
    while (!at_end() && is_blank(peek()))
      ++pos_;
  }

  void directive() {
    fresh_ = false;
    if (take() == '%') take();
    size_t index = lines_.size() - 1;
    line().in_directive = true;
    skip_blanks();
    if (std::isdigit(static_cast<unsigned char>(peek()))) {
      lines_[index].directive = Directive::kLine;
      return directive_line_number(index);
    }
    std::string name = take_identifier();
    Directive kind = directive_of(name);
    lines_[index].directive = kind;
    line().in_directive = true;
    lines_[index].in_define = kind == Directive::kDefine;
    line().in_define = kind == Directive::kDefine;
    skip_blanks();
    if (kind == Directive::kInclude) directive_include(index);
    if (kind == Directive::kLine) directive_line_number(index);
    if (kind == Directive::kIf && name == "if") lines_[index].constant_false = condition_is_false();
  }

  void directive_line_number(size_t index) {
    unsigned number = 0;
    while (std::isdigit(static_cast<unsigned char>(peek())) && number < 100'000'000)
      number = number * 10 + static_cast<unsigned>(take() - '0');
    lines_[index].line_number = number;
  }

  void directive_include(size_t index) {
    char open = peek();
    if (open != '<' && open != '"') return;
    size_t start = pos_ + 1;
    size_t stop = text_.find_first_of(open == '<' ? ">\n" : "\"\n", start);
    if (stop == std::string_view::npos || text_[stop] == '\n') return;
    lines_[index].include_name = text_.substr(start, stop - start);
    lines_[index].include_angled = open == '<';
    pos_ = stop + 1;
  }

  bool condition_is_false() const {
    size_t stop = text_.find('\n', pos_);
    std::string_view rest = text_.substr(pos_, stop == std::string_view::npos ? stop : stop - pos_);
    rest = rest.substr(0, std::min(rest.find("//"), rest.find("/*")));
    while (!rest.empty() && is_blank(rest.back()))
      rest.remove_suffix(1);
    return rest == "0" || rest == "(0)" || rest == "false";
  }

  std::string_view text_;
  size_t pos_ = 0;
  bool fresh_ = true; // nothing but blanks and comments on this logical line so far
  bool semicolon_seen_ = false;
  std::vector<Line> lines_;
};

} // namespace

std::string_view marker_name(Marker marker) {
  for (const MarkerName& known : kMarkers)
    if (known.marker == marker) return known.name;
  return "";
}

std::vector<Line> lex_lines(std::string_view text) {
  return LineLexer(text).run();
}

} // namespace rdb::source
