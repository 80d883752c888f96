// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text behind rdb print: from "file.c:42" and "x, p->len" to the source with a region in it, and from
// what the region prints to lines for people, scripts and tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rdb::debug {

struct PrintRequest {
  std::string file; // as the user named it
  unsigned line = 0;
  std::string what;                           // expressions, or a format and its arguments
  bool code = false;                          // statements, taken as they are
  std::string spot;                           // in place of file and line: "@function" or "*0x401136"
  std::map<std::string, std::string> missing; // expressions that are not available there: why
};

// "file.c:42", "@function" or "*0x401136"?
bool is_place(const std::string& text);
// Throws UserError if it is none.
PrintRequest parse_place(const std::string& place, const std::string& what);

// "file.c:40-60", "file.c:40" or "file.c".
struct LineRange {
  std::string file;
  unsigned first = 1;
  unsigned last = UINT32_MAX;
};
LineRange parse_range(const std::string& text);

// The expressions of a list, at its outer commas.
std::vector<std::string> split_expressions(const std::string& list);
// "%d %s", x, name: printed as printf does, not as a list of values.
bool is_format(const std::string& what);

// A source with regions for the requests, all of this file. `condition` may be empty.
struct EditedSource {
  std::string text;
  struct RequestedLine {
    size_t request;
    std::string expression;
    unsigned column; // where the expression begins
  };
  std::map<unsigned, RequestedLine> lines; // of the edited text that hold what the user typed
  // Line of the edited text at which a region begins -> the request.
  std::map<unsigned, size_t> regions;
};
EditedSource insert_regions(const std::string& source, const std::vector<PrintRequest>& requests,
                            const std::string& condition);

// A compiler's message at what the user typed, told of that instead of the edited file; others are unchanged.
std::string retell_message(const std::string& message, const EditedSource& source);

// One line that a region printed, behind rdb's prefix; and a whole hit, when its lines are put together.
struct Hit {
  bool reached = false; // the first of a hit: the place was reached
  uint64_t time = 0;
  int32_t thread = 0;
  std::string file;  // as rdb's prefix names it
  unsigned line = 0; // of the edited text
  std::string text;  // if it has no fields
  std::vector<std::pair<std::string, std::string>> fields;
};
std::optional<Hit> parse_hit(const std::string& line);

enum class HitStyle : uint8_t { plain, json, csv };
std::string render_hit(const Hit& hit, const std::string& place, HitStyle style);

} // namespace rdb::debug
