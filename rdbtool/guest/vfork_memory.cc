// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/vfork_memory.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/host_descriptors.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

struct Range {
  uint64_t begin;
  uint64_t size;
};

// A word of /proc/self/pagemap. After a fork parent and child map the same pages; one that the child alone
// maps is one that it has written.
bool is_own_page(uint64_t word) {
  constexpr uint64_t kPresent = 1ull << 63;
  constexpr uint64_t kFile = 1ull << 61;
  constexpr uint64_t kExclusive = 1ull << 56;
  return (word & (kPresent | kFile | kExclusive)) == (kPresent | kExclusive);
}

std::vector<Range> own_pages(const AddressSpace& space) {
  std::vector<Range> result;
  int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) limit("vfork where /proc/self/pagemap cannot be read");
  std::vector<uint64_t> words(4096);
  for (const auto& [key, mapping] : space.mappings()) {
    if (!(mapping.protection & PROT_WRITE) || mapping.flags & MAP_SHARED) continue;
    for (uint64_t at = mapping.begin; at < mapping.end;) {
      size_t pages = std::min<size_t>(words.size(), (mapping.end - at) / kPage);
      ssize_t n = pread(pagemap, words.data(), pages * 8, static_cast<off_t>(at / kPage * 8));
      if (n <= 0) break;
      for (size_t i = 0; i < static_cast<size_t>(n) / 8; ++i, at += kPage) {
        if (!is_own_page(words[i])) continue;
        if (!result.empty() && result.back().begin + result.back().size == at)
          result.back().size += kPage;
        else
          result.push_back({at, kPage});
      }
    }
  }
  close(pagemap);
  return result;
}

// The spans in which two pieces of memory differ; near ones are one.
template <class F>
void each_difference(const std::byte* a, const std::byte* b, size_t size, F&& f) {
  constexpr size_t kNear = 32;
  size_t at = 0;
  while (at < size) {
    if (a[at] == b[at]) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    for (size_t i = end; i < size && i < end + kNear; ++i)
      if (a[i] != b[i]) end = i + 1;
    f(at, end);
    at = end;
  }
}

} // namespace

VforkMemory::VforkMemory() : fd_(move_out_of_reach(memfd_create("vfork", MFD_CLOEXEC))) {}

VforkMemory::~VforkMemory() {
  close_own_descriptor(fd_);
}

void VforkMemory::hand_back(const AddressSpace& space) {
  if (ftruncate(fd_, 0) != 0) return;
  off_t at = 0;
  for (Range range : own_pages(space)) {
    iovec parts[2] = {{&range, sizeof range}, {reinterpret_cast<void*>(range.begin), range.size}};
    ssize_t n = pwritev(fd_, parts, 2, at);
    if (n != static_cast<ssize_t>(sizeof range + range.size)) limit("vfork: the child's memory is too large");
    at += n;
  }
}

std::vector<Answer::Write> VforkMemory::take(AddressSpace& space) {
  std::vector<Answer::Write> result;
  off_t at = 0;
  Range range;
  while (pread(fd_, &range, sizeof range, at) == static_cast<ssize_t>(sizeof range)) {
    at += static_cast<off_t>(sizeof range);
    std::vector<std::byte> fresh(range.size);
    std::vector<std::byte> old(range.size);
    if (pread(fd_, fresh.data(), fresh.size(), at) != static_cast<ssize_t>(fresh.size())) break;
    at += static_cast<off_t>(range.size);
    // What the child mapped for itself is not there.
    size_t known = space.read(GuestAddr(range.begin), old.data(), old.size());
    each_difference(fresh.data(), old.data(), known, [&](size_t begin, size_t end) {
      result.push_back({GuestAddr(range.begin + begin), {fresh.data() + begin, fresh.data() + end}});
    });
  }
  return result;
}

} // namespace rdb::guest
