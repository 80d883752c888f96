// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/shared_memory/shared_files.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <sys/mman.h>

namespace rdb::record {

void SharedFiles::tell(const guest::AddressSpace& space, const SharedPages& pages, trace::LogProducer& log) {
  std::vector<trace::SharedFile> files;
  std::vector<std::string> names;
  for (const auto& [begin, mapping] : space.mappings()) {
    if (!(mapping.flags & MAP_SHARED) || mapping.flags & MAP_ANONYMOUS || mapping.device == 0) continue;
    bool writable = mapping.protection & PROT_WRITE;
    auto same = std::ranges::find_if(files, [&](const trace::SharedFile& file) {
      return file.device == mapping.device && file.inode == mapping.inode;
    });
    if (same == files.end()) {
      files.push_back({mapping.device, mapping.inode, pages.family(begin), writable});
      names.push_back(mapping.name);
      continue;
    }
    if (same->area != pages.family(begin)) same->area = 0;
    same->writable |= static_cast<uint64_t>(writable);
  }
  if (files == told_) return;
  told_ = files;
  size_t which = 0;
  int32_t other = log.share_files(files.data(), files.size(), which);
  if (other != 0)
    limit("memory shared by recorded processes: process {} has mapped {} too, by a call of its own", other,
          which < names.size() ? names[which] : "the file");
}

void SharedFiles::tell_none(trace::LogProducer& log) {
  if (told_.empty()) return;
  told_.clear();
  size_t which = 0;
  log.share_files(nullptr, 0, which);
}

} // namespace rdb::record
