// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/base/visible_text.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace rdb {
namespace {

struct CodePoints {
  uint32_t first, last;
};

constexpr CodePoints kInvisible[] = {
    {0x00, 0x1f},       // C0
    {0x7f, 0x9f},       // DEL, C1
    {0xad, 0xad},       // soft hyphen
    {0x61c, 0x61c},     // Arabic letter mark
    {0x180e, 0x180e},   // Mongolian vowel separator
    {0x200b, 0x200f},   // zero width; marks of direction
    {0x2028, 0x202e},   // line and paragraph separators; embedding and override of direction
    {0x2060, 0x206f},   // word joiner, invisible operators; isolates of direction
    {0xfeff, 0xfeff},   // byte order mark
    {0xfff9, 0xfffb},   // interlinear annotation
    {0xe0000, 0xe0fff}, // tags, variation selectors
};

uint32_t code_point(std::string_view sequence) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(sequence[i]); };
  if (sequence.size() == 1) return byte(0);
  uint32_t value = byte(0) & (0x7fu >> sequence.size());
  for (size_t i = 1; i < sequence.size(); ++i)
    value = value << 6 | (byte(i) & 0x3fu);
  return value;
}

// The length of the visible character at the front; 0 if the first byte is to be escaped.
size_t visible_length(std::string_view text) {
  size_t length = utf8_length(text);
  if (length == 0) return 0;
  uint32_t point = code_point(text.substr(0, length));
  for (const CodePoints& range : kInvisible)
    if (point >= range.first && point <= range.last) return 0;
  return length;
}

std::string escaped(char c) {
  switch (c) {
  case '\n':
    return "\\n";
  case '\t':
    return "\\t";
  case '\r':
    return "\\r";
  default:
    return fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
  }
}

} // namespace

size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint8_t lead = byte(0);
  size_t length = lead < 0x80                   ? 1
                  : lead >= 0xc2 && lead < 0xe0 ? 2
                  : (lead & 0xf0) == 0xe0       ? 3
                  : lead >= 0xf0 && lead < 0xf5 ? 4
                                                : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0) ||
      (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) >= 0x90))
    return 0;
  return length;
}

bool is_visible(std::string_view text) {
  while (!text.empty()) {
    size_t length = visible_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string visible_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t length = visible_length(text);
    if (length == 0) {
      // All bytes of a character go together: its last ones alone could be taken for control characters.
      length = std::max<size_t>(utf8_length(text), 1);
      for (char c : text.substr(0, length))
        out += escaped(c);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string visible_lines(std::string_view text) {
  std::string out;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    out += visible_text(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return out + visible_text(text);
}

} // namespace rdb
