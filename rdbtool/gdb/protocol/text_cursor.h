// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading the text of a packet from left to right. Every step says whether the text had what was asked for;
// none reads behind its end.
#pragma once

#include "rdbtool/base/types.h"
#include "rdbtool/gdb/protocol/target.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdb::gdb {

int hex_digit(char c); // -1 if it is none
std::string to_hex_byte(uint8_t byte);
std::string to_hex(std::span<const std::byte> bytes);
std::string to_hex(std::string_view text);
// Bytes of pairs of digits; nothing if there is an odd one or another character.
std::optional<Bytes> from_hex(std::string_view text);
std::optional<std::string> text_from_hex(std::string_view text);

class TextCursor {
public:
  explicit TextCursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  bool eat(char c);
  bool eat(std::string_view prefix);
  // A number in hex, of at most 64 bits.
  std::optional<uint64_t> hex();
  // The text up to `separator`, which is eaten; nothing if there is none.
  std::optional<std::string_view> until(char separator);
  // The text up to the first of `separators`, which stays, or to the end.
  std::string_view up_to(std::string_view separators);
  std::string_view take(size_t count); // fewer if there are not so many
  std::optional<char> character();

private:
  std::string_view rest_;
};

} // namespace rdb::gdb
