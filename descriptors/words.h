// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of the descriptor format, one table per enumeration, shared by reader and writer so that they
// cannot disagree.
#pragma once

#include "descriptors/descriptor.h"

#include <span>

namespace rdb::descriptors {

template <class Enum>
struct Word {
  Enum value;
  std::string_view word;
};

// What follows an operator of an expression.
enum class Operand { none, dwarf_register, number, address };
struct OpWord {
  Op value;
  std::string_view word;
  Operand operand;
};

inline constexpr std::string_view kFirstLine = "rdb-descriptors ";

std::span<const Word<Class>> class_words();
std::span<const Word<Status>> status_words();
std::span<const Word<Side>> side_words();
std::span<const Word<Owner>> owner_words();
std::span<const OpWord> op_words();

// A string field: in quotes, with escapes.
std::string quoted(std::string_view text);

template <class Table, class Enum>
std::string_view word_of(const Table& table, Enum value) {
  for (const auto& entry : table)
    if (entry.value == value) return entry.word;
  throw std::logic_error("descriptors: value without a word");
}

} // namespace rdb::descriptors
