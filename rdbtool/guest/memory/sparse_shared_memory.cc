// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared memory without a file that is large and mostly a hole. Only a descriptor tells where it is not: to
// look at a page of a hole makes the page, and there may be a terabyte of them. So rdb makes it from a file
// in memory, and keeps that open while it is mapped.
#include "rdbtool/base/file_size_limit.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/memory/address_space.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

constexpr uint64_t kLarge = 64u << 20;

bool set_size(int fd, uint64_t size) {
  WithoutSigxfsz guard;
  if (ftruncate(fd, static_cast<off_t>(size)) == 0) return true;
  if (errno == EFBIG) guard.exceeded();
  return false;
}

} // namespace

int AddressSpace::make_memory_file(uint64_t size, int flags) {
  constexpr int kWanted = MAP_ANONYMOUS | MAP_NORESERVE;
  bool wanted = (flags & (kWanted | MAP_HUGETLB)) == kWanted && (flags & MAP_TYPE) == MAP_SHARED;
  if (!wanted || size <= kLarge) return -1;
  close_memory_files();
  int fd = move_out_of_reach(memfd_create("rdb", MFD_CLOEXEC));
  if (fd < 0) return -1;
  if (is_own_descriptor(fd) && set_size(fd, size)) return fd;
  close_own_descriptor(fd);
  return -1;
}

void AddressSpace::close_memory_files() {
  std::erase_if(memory_files_, [&](int fd) {
    bool used = std::ranges::any_of(mappings_, [&](const auto& entry) { return entry.second.copy == fd; });
    if (!used) close_own_descriptor(fd);
    return !used;
  });
}

} // namespace rdb::guest
