// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/json_text.h"

#include <fmt/format.h>

namespace rdb::trace {
namespace {

// The length of the UTF-8 sequence at the front, 0 if there is none. Surrogates and overlong forms are none.
size_t sequence_length(std::string_view text) {
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

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

} // namespace

nlohmann::ordered_json text_to_json(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string hex;
  for (char c : text)
    hex += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return {{"hex", hex}};
}

std::string text_from_json(const nlohmann::ordered_json& value) {
  if (!value.is_object()) return value.get<std::string>();
  std::string hex = value.at("hex").get<std::string>();
  std::string text;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
    text += static_cast<char>(digit(hex[i]) << 4 | (digit(hex[i + 1]) & 15));
  }
  return text;
}

} // namespace rdb::trace
