// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/print/print_text.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <regex>

namespace rdb::debug {
namespace {

constexpr char kField = '\x1f';   // stands before each name and each value
constexpr char kReached = '\x1e'; // alone: the place was reached, and what is printed there follows

std::string trimmed(const std::string& text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// For the inside of a C string.
std::string quoted(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

// Behind which line the debug-only include goes: the last include at the outer level before the first region,
// so that the program's own settings for its headers come first.
unsigned line_of_include(const std::vector<std::string>& lines, unsigned before) {
  int depth = 0;
  unsigned found = 0;
  for (unsigned i = 0; i < lines.size() && i + 1 < before; ++i) {
    std::string line = trimmed(lines[i]);
    if (!line.starts_with('#')) continue;
    line = trimmed(line.substr(1));
    if (line.starts_with("if")) ++depth;
    if (line.starts_with("endif")) --depth;
    if (depth == 0 && line.starts_with("include")) found = i + 1;
  }
  return found;
}

class Writer {
public:
  explicit Writer(EditedSource& out) : out_(out) {}
  void line(const std::string& text) {
    out_.text += text + "\n";
    ++count_;
  }
  unsigned count() const { return count_; }

private:
  EditedSource& out_;
  unsigned count_ = 0;
};

// One region for each expression: what is unavailable at the place costs only its own region. The first one
// needs nothing, and tells that the place was reached.
class RegionWriter {
public:
  RegionWriter(Writer& writer, EditedSource& out, size_t number, const std::string& condition)
      : writer_(writer), out_(out), number_(number), condition_(condition) {}

  void begin() {
    writer_.line("rdb_begin");
    out_.regions[writer_.count()] = number_;
    if (!condition_.empty()) typed("if (", condition_, ") {");
  }
  void code(const std::string& text) { writer_.line(text); }
  // A line with what the user typed in it.
  void typed(const std::string& before, const std::string& text, const std::string& after) {
    writer_.line(before + text + after);
    out_.lines[writer_.count()] = {number_, text, static_cast<unsigned>(before.size()) + 1};
  }
  void end() {
    if (!condition_.empty()) writer_.line("}");
    writer_.line("rdb_end");
  }

private:
  Writer& writer_;
  EditedSource& out_;
  size_t number_;
  const std::string& condition_;
};

void write_regions(RegionWriter& region, const PrintRequest& request) {
  region.begin();
  if (request.code) {
    region.typed("", request.what, ";");
    return region.end();
  }
  region.code("__builtin_printf(\"\\x1e\\n\");");
  region.end();
  if (is_format(request.what)) {
    region.begin();
    region.typed("__builtin_printf(", request.what, ");");
    region.code("__builtin_printf(\"\\n\");");
    return region.end();
  }
  for (const std::string& expression : split_expressions(request.what)) {
    region.begin();
    region.code("__builtin_printf(\"%s\", \"\\x1f\" \"" + quoted(expression) + "\" \"\\x1f\");");
    region.typed("__rdb_show(", expression, ");");
    region.code("__builtin_printf(\"\\n\");");
    region.end();
  }
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (char c : text)
    result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

bool parse_number(std::string_view text, unsigned& number) {
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() && number > 0;
}

// The line of FILE:LINE; 0 if it is not that.
unsigned line_of(const std::string& place) {
  size_t colon = place.rfind(':');
  if (colon == std::string::npos || colon == 0) return 0;
  unsigned line = 0;
  return parse_number(std::string_view(place).substr(colon + 1), line) ? line : 0;
}

bool is_spot(const std::string& place) {
  return (place.starts_with('@') && place.size() > 1) || (place.starts_with("*0x") && place.size() > 3);
}

} // namespace

bool is_place(const std::string& text) {
  return is_spot(text) || line_of(text) != 0;
}

PrintRequest parse_place(const std::string& place, const std::string& what) {
  PrintRequest request;
  if (!is_place(place))
    user_error("print: '{}' is not a place: it is FILE:LINE, as in list.c:42, @FUNCTION or *0xADDRESS",
               place);
  if (trimmed(what).empty()) user_error("print: nothing to print at {}", place);
  if (is_spot(place)) {
    request.spot = place;
  } else {
    request.file = place.substr(0, place.rfind(':'));
    request.line = line_of(place);
  }
  request.what = trimmed(what);
  return request;
}

LineRange parse_range(const std::string& text) {
  LineRange range;
  size_t colon = text.rfind(':');
  range.file = text.substr(0, colon);
  if (colon != std::string::npos) {
    std::string_view lines = std::string_view(text).substr(colon + 1);
    size_t dash = lines.find('-');
    bool good = parse_number(lines.substr(0, dash), range.first);
    range.last = range.first;
    if (dash != std::string_view::npos) good = good && parse_number(lines.substr(dash + 1), range.last);
    if (!good || range.last < range.first) range.file.clear();
  }
  if (range.file.empty())
    user_error("print: '{}' is not a range of lines: it is FILE:FIRST-LAST, as in list.c:40-60", text);
  return range;
}

std::vector<std::string> split_expressions(const std::string& list) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    char c = list[i];
    if (quote != 0) {
      if (c == '\\' && i + 1 < list.size())
        parts.back() += list[i++];
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += list[i];
  }
  for (std::string& part : parts) {
    part = trimmed(part);
    if (part.empty()) user_error("print: '{}' has an empty expression", list);
  }
  return parts;
}

bool is_format(const std::string& what) {
  return what.starts_with('"');
}

EditedSource insert_regions(const std::string& source, const std::vector<PrintRequest>& requests,
                            const std::string& condition) {
  std::vector<std::string> lines = lines_of(source);
  unsigned first = UINT32_MAX;
  for (const PrintRequest& request : requests) {
    if (request.line > lines.size()) user_error("print: {} has only {} lines", request.file, lines.size());
    first = std::min(first, request.line);
  }
  EditedSource out;
  Writer writer(out);
  unsigned include = line_of_include(lines, first);
  for (unsigned i = 0; i <= lines.size(); ++i) {
    if (i == include)
      for (const char* line :
           {"#include <rdb/rdb.h>", "rdb_begin_globals", "#include <rdb/show.h>", "rdb_end_globals"})
        writer.line(line);
    if (i == lines.size()) break;
    for (size_t number = 0; number < requests.size(); ++number)
      if (requests[number].line == i + 1) {
        RegionWriter region(writer, out, number, condition);
        write_regions(region, requests[number]);
      }
    writer.line(lines[i]);
  }
  return out;
}

std::string retell_message(const std::string& message, const EditedSource& source) {
  static const std::regex pattern(R"(^[^:]+:(\d+):(\d+): (.*)$)");
  std::smatch match;
  if (!std::regex_match(message, match, pattern)) return message;
  auto line = source.lines.find(static_cast<unsigned>(std::stoul(match[1])));
  if (line == source.lines.end()) return message;
  auto column = static_cast<unsigned>(std::stoul(match[2]));
  unsigned inside = column >= line->second.column ? column - line->second.column + 1 : 1;
  return "'" + line->second.expression + "':" + std::to_string(inside) + ": " + match[3].str();
}

// There may be millions of them.
std::optional<Hit> parse_hit(const std::string& line) {
  Hit hit;
  const char* stop = line.data() + line.size();
  if (!line.starts_with('[')) return std::nullopt;
  auto time = std::from_chars(line.data() + 1, stop, hit.time);
  if (time.ec != std::errc() || time.ptr == stop || *time.ptr != ' ') return std::nullopt;
  auto thread = std::from_chars(time.ptr + 1, stop, hit.thread);
  if (thread.ec != std::errc() || thread.ptr == stop || *thread.ptr != ' ') return std::nullopt;
  auto place = static_cast<size_t>(thread.ptr + 1 - line.data());
  size_t bracket = line.find("] ", place);
  if (bracket == std::string::npos) return std::nullopt;
  size_t colon = line.rfind(':', bracket);
  if (colon == std::string::npos || colon < place) return std::nullopt;
  auto number = std::from_chars(line.data() + colon + 1, line.data() + bracket, hit.line);
  if (number.ec != std::errc() || number.ptr != line.data() + bracket) return std::nullopt;
  hit.file = line.substr(place, colon - place);
  std::string rest = line.substr(bracket + 2);
  hit.reached = rest.starts_with(kReached);
  if (hit.reached) rest.erase(0, 1);
  if (!rest.starts_with(kField)) {
    hit.text = rest;
    return hit;
  }
  for (size_t at = 0; at < rest.size();) {
    size_t value = rest.find(kField, at + 1);
    if (value == std::string::npos) break;
    size_t end = std::min(rest.find(kField, value + 1), rest.size());
    hit.fields.emplace_back(rest.substr(at + 1, value - at - 1), rest.substr(value + 1, end - value - 1));
    at = end;
  }
  return hit;
}

std::string render_hit(const Hit& hit, const std::string& place, HitStyle style) {
  switch (style) {
  case HitStyle::plain: {
    std::string values = hit.text;
    for (const auto& [name, value] : hit.fields)
      values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", name, value);
    return fmt::format("[{} {} {}] {}", hit.time, hit.thread, place, values);
  }
  case HitStyle::json: {
    nlohmann::ordered_json object{{"time", hit.time}, {"thread", hit.thread}, {"place", place}};
    if (hit.fields.empty()) object["text"] = hit.text;
    for (const auto& [name, value] : hit.fields)
      object["values"][name] = value;
    return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  case HitStyle::csv: {
    std::string line = fmt::format("{},{},{}", hit.time, hit.thread, csv_field(place));
    if (hit.fields.empty()) line += "," + csv_field(hit.text);
    for (const auto& [name, value] : hit.fields)
      line += "," + csv_field(value);
    return line;
  }
  }
  return "";
}

} // namespace rdb::debug
