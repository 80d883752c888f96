// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Digits and separators.
#include "rdbtool/gdb/protocol/text_cursor.h"

#include <algorithm>

namespace rdb::gdb {

namespace {
constexpr char kDigits[] = "0123456789abcdef";
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string to_hex_byte(uint8_t byte) {
  return {kDigits[byte >> 4], kDigits[byte & 15]};
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::byte b : bytes) {
    text += kDigits[static_cast<uint8_t>(b) >> 4];
    text += kDigits[static_cast<uint8_t>(b) & 15];
  }
  return text;
}

std::string to_hex(std::string_view text) {
  return to_hex(std::as_bytes(std::span(text)));
}

std::optional<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

std::optional<std::string> text_from_hex(std::string_view text) {
  auto bytes = from_hex(text);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

bool TextCursor::eat(char c) {
  if (rest_.empty() || rest_.front() != c) return false;
  rest_.remove_prefix(1);
  return true;
}

bool TextCursor::eat(std::string_view prefix) {
  if (!rest_.starts_with(prefix)) return false;
  rest_.remove_prefix(prefix.size());
  return true;
}

std::optional<uint64_t> TextCursor::hex() {
  uint64_t value = 0;
  size_t digits = 0;
  for (; digits < rest_.size() && hex_digit(rest_[digits]) >= 0; ++digits) {
    if (value >> 60 != 0) return std::nullopt;
    value = value * 16 + static_cast<uint64_t>(hex_digit(rest_[digits]));
  }
  if (digits == 0) return std::nullopt;
  rest_.remove_prefix(digits);
  return value;
}

std::optional<std::string_view> TextCursor::until(char separator) {
  size_t place = rest_.find(separator);
  if (place == std::string_view::npos) return std::nullopt;
  std::string_view text = rest_.substr(0, place);
  rest_.remove_prefix(place + 1);
  return text;
}

std::string_view TextCursor::up_to(std::string_view separators) {
  size_t place = std::min(rest_.find_first_of(separators), rest_.size());
  std::string_view text = rest_.substr(0, place);
  rest_.remove_prefix(place);
  return text;
}

std::string_view TextCursor::take(size_t count) {
  std::string_view text = rest_.substr(0, count);
  rest_.remove_prefix(text.size());
  return text;
}

std::optional<char> TextCursor::character() {
  if (rest_.empty()) return std::nullopt;
  char c = rest_.front();
  rest_.remove_prefix(1);
  return c;
}

} // namespace rdb::gdb
