// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The few things about stops that every target must see alike.
#include "rdbtool/gdb/target.h"

#include <algorithm>

namespace rdb::gdb {

bool SyscallCatch::catches(int64_t number) const {
  return enabled && (numbers.empty() || std::ranges::find(numbers, number) != numbers.end());
}

} // namespace rdb::gdb
