// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes that rdb puts into guest memory on behalf of the kernel: found when a call is recorded, logged, and
// written again by a replay.
#pragma once

#include "rdbtool/base/types.h"

#include <span>

namespace rdb {

// `data` belongs to whoever made the struct. RedirectedCall's stays valid until its next prepare(); what is
// appended to a log is read before append() returns; what a reader of a log gives is valid until it reads on.
struct MemoryWrite {
  GuestAddr address;
  const uint8_t* data = nullptr;
  size_t size = 0;

  std::span<const uint8_t> bytes() const { return {data, size}; }
};

} // namespace rdb
