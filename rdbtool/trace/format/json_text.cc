// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/format/json_text.h"

#include "rdbtool/base/visible_text.h"

#include <fmt/format.h>

namespace rdb::trace {
namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8_length(text);
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
