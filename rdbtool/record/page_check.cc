// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/page_check.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <sys/mman.h>

namespace rdb::record {

void PageCheck::collect(const guest::AddressSpace& space, std::vector<guest::PageHash>& pages) {
  size_t most = 0;
  for (const auto& [begin, mapping] : space.mappings())
    if (mapping.protection & PROT_WRITE) most += (mapping.end - mapping.begin) / guest::kPage;
  pages.resize(most);
  pages.resize(guest::hash_pages(space, {}, pages.data(), most));
  // Memory that others may change at any time is not the call's doing.
  std::erase_if(pages, [&](const guest::PageHash& page) {
    return (space.find(page.address)->flags & MAP_SHARED) != 0;
  });
}

void PageCheck::after(const guest::AddressSpace& space, const char* call) {
  collect(space, after_);
  auto same = [](const guest::PageHash& a, const guest::PageHash& b) {
    return a.address == b.address && a.hash == b.hash;
  };
  auto [was, is] = std::mismatch(before_.begin(), before_.end(), after_.begin(), after_.end(), same);
  if (was == before_.end() && is == after_.end()) return;
  uint64_t page = UINT64_MAX;
  if (was != before_.end()) page = was->address;
  if (is != after_.end()) page = std::min(page, is->address);
  bug("{} changed guest memory at {:#x}, which the table of system calls does not say", call, page);
}

} // namespace rdb::record
