// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code and data of rdb's own in the guest's world: guest code that only nested engines run, and that no
// mapping of the guest's has.
#pragma once

#include <cstdint>

namespace rdb::debug {

struct OwnCode {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool contains(uint64_t address) const { return address >= begin && address < end; }
};

} // namespace rdb::debug
