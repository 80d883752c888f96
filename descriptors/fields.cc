// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See fields.h.
#include "descriptors/fields.h"

#include <charconv>

namespace rdb::descriptors {

FormatError::FormatError(std::string_view name, unsigned at_line, const std::string& message)
    : std::runtime_error(std::string(name) + ":" + (at_line ? std::to_string(at_line) + ": " : " ") +
                         message),
      line(at_line) {}

void Fields::skip_space() {
  if (first_) {
    first_ = false;
    return;
  }
  if (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
}

std::string_view Fields::word(const char* what) {
  skip_space();
  size_t size = std::min(rest_.find(' '), rest_.size());
  if (size == 0) fail(std::string(what) + " is missing");
  std::string_view found = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return found;
}

std::string Fields::string(const char* what) {
  skip_space();
  if (rest_.empty() || rest_[0] != '"') fail(std::string(what) + " must be a quoted string");
  rest_.remove_prefix(1);
  std::string result;
  while (true) {
    if (rest_.empty()) fail(std::string(what) + " has no closing quote");
    char c = rest_[0];
    rest_.remove_prefix(1);
    if (c == '"') break;
    if (c == '\\') {
      if (rest_.starts_with("\"") || rest_.starts_with("\\")) {
        c = rest_[0];
        rest_.remove_prefix(1);
      } else if (rest_.starts_with("x") && rest_.size() >= 3) {
        c = static_cast<char>(hex_digits(rest_.substr(1, 2), what));
        rest_.remove_prefix(3);
      } else {
        fail(std::string(what) + " has an unknown escape");
      }
    }
    result += c;
  }
  if (!rest_.empty() && rest_[0] != ' ') fail(std::string("no space after ") + what);
  return result;
}

uint64_t Fields::decimal(std::string_view digits, const char* what) const {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  bool canonical = digits.size() == 1 || digits[0] != '0';
  if (error != std::errc() || end != digits.data() + digits.size() || !canonical)
    fail(std::string(what) + " '" + std::string(digits) + "' is no number");
  return value;
}

uint64_t Fields::hex_digits(std::string_view digits, const char* what) const {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  bool lower = digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || !lower)
    fail(std::string(what) + " '" + std::string(digits) + "' is no hexadecimal number");
  return value;
}

uint64_t Fields::number(const char* what, uint64_t max) {
  uint64_t value = decimal(word(what), what);
  if (value > max) fail(std::string(what) + " is too large");
  return value;
}

int64_t Fields::signed_number(const char* what) {
  std::string_view digits = word(what);
  bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  if (digits.empty()) fail(std::string(what) + " is no number");
  uint64_t magnitude = decimal(digits, what);
  if (magnitude > (uint64_t{1} << 63) - (negative ? 0 : 1)) fail(std::string(what) + " is too large");
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

uint64_t Fields::hex(const char* what) {
  std::string_view digits = word(what);
  if (!digits.starts_with("0x")) fail(std::string(what) + " must begin with 0x");
  return hex_digits(digits.substr(2), what);
}

Address Fields::address(const char* what) {
  std::string_view text = word(what);
  if (text == "-") return {};
  if (text.starts_with("@") && text.size() > 1) return Address::entry(decimal(text.substr(1), what));
  if (text.starts_with("0x")) return Address::absolute(hex_digits(text.substr(2), what));
  fail(std::string(what) + " '" + std::string(text) + "' is no address");
}

Register Fields::reg() {
  std::string_view name = word("register");
  Register number = register_number(name);
  if (number == kNoRegister) fail("'" + std::string(name) + "' is no register");
  return number;
}

std::string Fields::bytes(const char* what) {
  std::string_view digits = word(what);
  std::string result;
  if (digits == "-") return result;
  if (digits.size() % 2 != 0) fail(std::string(what) + " has an odd number of digits");
  for (; !digits.empty(); digits.remove_prefix(2))
    result += static_cast<char>(hex_digits(digits.substr(0, 2), what));
  return result;
}

std::vector<Source::Range> Fields::ranges() {
  std::string_view text = word("removed lines");
  std::vector<Source::Range> result;
  if (text == "-") return result;
  while (true) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view range = text.substr(0, comma);
    size_t dash = range.find('-');
    if (dash == std::string_view::npos || dash == 0 || dash + 1 == range.size())
      fail("removed lines: '" + std::string(range) + "' is no range");
    uint64_t first = decimal(range.substr(0, dash), "line");
    uint64_t last = decimal(range.substr(dash + 1), "line");
    uint64_t previous = result.empty() ? 0 : result.back().last;
    if (first <= previous || last < first || last > INT32_MAX) fail("removed lines are out of order");
    result.push_back({static_cast<unsigned>(first), static_cast<unsigned>(last)});
    if (comma == text.size()) return result;
    text.remove_prefix(comma + 1);
  }
}

void Fields::end() const {
  if (!rest_.empty()) fail("unexpected text after the record: '" + std::string(rest_.substr(0, 40)) + "'");
}

} // namespace rdb::descriptors
