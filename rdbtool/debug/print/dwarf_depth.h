// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libdw follows the scopes of a unit by recursion, and a recording may bring debug information of any depth:
// a hundred thousand blocks inside each other would use up the stack. Compilers stay far below the bound.
#pragma once

#include <elfutils/libdw.h>
#include <vector>

namespace rdb::debug {

inline bool is_too_deep(Dwarf_Die* unit) {
  constexpr size_t kDeepest = 1000;
  constexpr size_t kMost = 100'000'000; // references to siblings may form a circle
  std::vector<Dwarf_Die> path = {*unit};
  Dwarf_Die next;
  for (size_t seen = 0; seen < kMost && path.size() <= kDeepest; ++seen) {
    if (dwarf_child(&path.back(), &next) == 0) {
      path.push_back(next);
      continue;
    }
    // The unit itself has no sibling that would be looked at.
    while (path.size() > 1 && dwarf_siblingof(&path.back(), &next) != 0)
      path.pop_back();
    if (path.size() == 1) return false;
    path.back() = next;
  }
  return true;
}

} // namespace rdb::debug
