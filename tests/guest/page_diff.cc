// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares two images of memory page by page, and byte by byte only where they differ.
#include "tests/guest/page_diff.h"

#include "rdbtool/base/error.h"

#include <algorithm>

namespace rdb {
namespace {

bool is_announced(GuestAddr address, std::span<const MemoryWrite> announced) {
  return std::any_of(announced.begin(), announced.end(), [&](const MemoryWrite& write) {
    return address >= write.address && address - write.address < write.size;
  });
}

} // namespace

std::vector<UnannouncedChange> unannounced_changes(GuestAddr start, std::span<const std::byte> before,
                                                   std::span<const std::byte> after,
                                                   std::span<const MemoryWrite> announced, size_t limit) {
  RDB_CHECK(before.size() == after.size());
  constexpr size_t kBlock = 4096;
  std::vector<UnannouncedChange> changes;
  for (size_t block = 0; block < before.size(); block += kBlock) {
    size_t size = std::min(kBlock, before.size() - block);
    if (std::memcmp(&before[block], &after[block], size) == 0) continue;
    for (size_t i = block; i < block + size; ++i) {
      GuestAddr address = start + i;
      if (before[i] == after[i] || is_announced(address, announced)) continue;
      if (!changes.empty() && changes.back().address + changes.back().size == address) {
        ++changes.back().size;
        continue;
      }
      if (changes.size() == limit) return changes;
      changes.push_back({address, 1});
    }
  }
  return changes;
}

} // namespace rdb
