// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long descriptors may be. A reader takes several times as much memory for them.
#pragma once

#include <cstddef>

namespace rdb::descriptors {

// A program with ten thousand regions has a few tens of megabytes.
inline constexpr size_t kMaxText = 256 << 20;

} // namespace rdb::descriptors
