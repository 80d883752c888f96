// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/base/xml.h"

#include "rdbtool/base/visible_text.h"

namespace rdb {

std::string xml_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t size = utf8_length(text);
    char c = text.front();
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (size == 0 || !is_visible(text.substr(0, size)))
      out += '?';
    else
      out += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

} // namespace rdb
