// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lets the tables of variants be written in the order that reads best: they are sorted by selector, and
// checked for selectors that occur twice, at compile time.
#pragma once

#include "rdbtool/syscalls/table.h"

#include <algorithm>
#include <array>

namespace rdb {

template <size_t N>
consteval std::array<CallVariant, N> sorted_variants(const CallVariant (&rows)[N]) {
  std::array<CallVariant, N> sorted = std::to_array(rows);
  std::ranges::sort(sorted, {}, &CallVariant::selector);
  if (std::ranges::adjacent_find(sorted, {}, &CallVariant::selector) != sorted.end())
    throw "a selector occurs twice";
  return sorted;
}

} // namespace rdb
