// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Segments of System V shared memory: mappings that are made by another call than mmap and removed as a
// whole.
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/memory/host_place.h"

#include <cerrno>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

namespace rdb::guest {

int64_t AddressSpace::shmat(int id, uint64_t address, int flags) {
  shmid_ds segment;
  if (shmctl(id, IPC_STAT, &segment) != 0) return -errno;
  uint64_t size = page_up(segment.shm_segsz);
  bool replaces = flags & SHM_REMAP;
  if (address & (kPage - 1)) {
    if (!(flags & SHM_RND)) return -EINVAL;
    address = page_down(address);
  }
  if (address == 0) {
    if (replaces) return -EINVAL;
    address = find_gap(size);
    if (address == 0) return -ENOMEM;
  } else {
    if (address < kLowBegin || size > kUserEnd || address > kUserEnd - size) return -EINVAL;
    if (!replaces && !(in_guest_range(address, address + size) && is_free(address, address + size)))
      return -EINVAL; // a place that is taken
    require_place(address, address + size);
  }
  // Whatever is there is meant to be replaced: that was looked at here.
  int64_t result = raw_syscall(SYS_shmat, id, static_cast<int64_t>(address), (flags & ~SHM_RND) | SHM_REMAP);
  if (result < 0) return result;
  Mapping mapping;
  mapping.begin = address;
  mapping.end = address + size;
  mapping.protection = PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) | (flags & SHM_EXEC ? PROT_EXEC : 0);
  mapping.flags = MAP_SHARED;
  // As the kernel shows it in /proc.
  mapping.device = makedev(0, 1);
  mapping.inode = static_cast<uint64_t>(id);
  mapping.name = fmt::format("/SYSV{:08x} (deleted)", static_cast<uint32_t>(segment.shm_perm.__key));
  mapping.segment = true;
  insert(mapping);
  // Guest pages are never executable for the CPU.
  if (flags & SHM_EXEC) mprotect(mapping.begin, size, mapping.protection);
  stale(mapping.begin, mapping.end);
  return static_cast<int64_t>(address);
}

int64_t AddressSpace::shmdt(uint64_t address) {
  if (address & (kPage - 1)) return -EINVAL;
  // Parts of it may be gone, or be protected in another way.
  std::vector<Mapping> parts;
  for (auto it = mappings_.lower_bound(address); it != mappings_.end(); ++it) {
    const Mapping& part = it->second;
    if (part.segment && part.begin - address == part.offset) parts.push_back(part);
  }
  if (parts.empty()) return -EINVAL;
  for (const Mapping& part : parts)
    munmap(part.begin, part.end - part.begin);
  return 0;
}

} // namespace rdb::guest
