// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes one line of a descriptor file apart, field by field. Anything that the writer would not have written
// is an error that names the line.
#pragma once

#include "descriptors/words.h"

namespace rdb::descriptors {

class Fields {
public:
  Fields(std::string_view text, std::string_view name, unsigned line)
      : rest_(text), name_(name), line_(line) {}

  [[noreturn]] void fail(const std::string& message) const { throw FormatError(name_, line_, message); }

  std::string_view word(const char* what);
  std::string string(const char* what);
  uint64_t number(const char* what, uint64_t max = UINT64_MAX);
  uint32_t id(const char* what) { return static_cast<uint32_t>(number(what, UINT32_MAX)); }
  int64_t signed_number(const char* what);
  uint64_t hex(const char* what);
  Address address(const char* what);
  Register reg();
  std::string bytes(const char* what);
  std::vector<Source::Range> ranges();
  void end() const;

  template <class Table>
  auto one_of(const Table& table, const char* what) {
    std::string_view found = word(what);
    for (const auto& entry : table)
      if (entry.word == found) return entry.value;
    fail(std::string("'") + std::string(found) + "' is no " + what);
  }

private:
  uint64_t decimal(std::string_view digits, const char* what) const;
  uint64_t hex_digits(std::string_view digits, const char* what) const;
  void skip_space();

  std::string_view rest_;
  std::string_view name_;
  unsigned line_;
  bool first_ = true;
};

} // namespace rdb::descriptors
