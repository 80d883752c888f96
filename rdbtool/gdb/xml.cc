// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/gdb/xml.h"

namespace rdb::gdb {

namespace {

// How many bytes the UTF-8 character at the beginning of `text` has; 0 if it is none.
size_t character_size(std::string_view text) {
  auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return size;
}

} // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t size = character_size(text);
    char c = text.front();
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (size == 0 || (size == 1 && (c < 0x20 || c == 0x7f)))
      out += '?';
    else
      out += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

} // namespace rdb::gdb
