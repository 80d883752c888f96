// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/vfork_memory.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/syscalls/call_properties.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

struct PageRange {
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

template <class F>
std::vector<PageRange> own_pages(const AddressSpace& space, F&& is_looked_at) {
  std::vector<PageRange> result;
  int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) limit("vfork where /proc/self/pagemap cannot be read");
  std::vector<uint64_t> words(4096);
  for (const auto& [key, mapping] : space.mappings()) {
    if (mapping.flags & MAP_SHARED || !is_looked_at(mapping)) continue;
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

// How a call is kept in the file.
struct StoredCall {
  int64_t number;
  uint64_t arguments[6];
  int64_t result;
  uint64_t device;
  uint64_t inode;
  uint64_t name_size; // of what follows
};

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

// The parent makes the call with its result given: it must come to the same place.
void VforkMemory::note(const SystemCall& call, int64_t result, const AddressSpace& space) {
  Call noted{call, result, {}, 0, 0};
  SyscallArgs& a = noted.call.arguments;
  auto place = static_cast<uint64_t>(result);
  switch (properties_of(call.number).mapping) {
  case MappingChange::map:
    a[0] = place;
    a[3] = (a[3] & ~static_cast<uint64_t>(MAP_FIXED_NOREPLACE)) | MAP_FIXED;
    if (const Mapping* mapping = space.find(place); !(a[3] & MAP_ANONYMOUS)) {
      noted.file = mapping->name;
      noted.device = mapping->device;
      noted.inode = mapping->inode;
    }
    break;
  case MappingChange::move:
    if (place == a[0]) break;
    a[3] |= MREMAP_MAYMOVE | MREMAP_FIXED;
    a[4] = place;
    break;
  case MappingChange::attach:
    a[1] = place;
    a[2] |= SHM_REMAP;
    break;
  default:
    break;
  }
  noted_.push_back(std::move(noted));
}

// Whether a call may have changed what the mapping holds, or its protection.
bool VforkMemory::is_noted(const Mapping& mapping) const {
  return std::ranges::any_of(noted_, [&](const Call& noted) {
    const SyscallArgs& a = noted.call.arguments;
    uint64_t size = page_up(noted.call.number == SYS_mremap ? a[2] : a[1]);
    uint64_t begin = noted.call.number == SYS_mremap ? static_cast<uint64_t>(noted.result) : a[0];
    return begin < mapping.end && mapping.begin < begin + size;
  });
}

void VforkMemory::hand_back(const AddressSpace& space) {
  if (ftruncate(fd_, 0) != 0) return;
  off_t at = 0;
  auto put = [&](const void* head, size_t head_size, const void* rest, size_t rest_size) {
    iovec parts[2] = {{const_cast<void*>(head), head_size}, {const_cast<void*>(rest), rest_size}};
    ssize_t n = pwritev(fd_, parts, 2, at);
    if (n != static_cast<ssize_t>(head_size + rest_size)) limit("vfork: the child's memory is too large");
    at += n;
  };
  uint64_t count = noted_.size();
  put(&count, sizeof count, nullptr, 0);
  for (const Call& noted : noted_) {
    StoredCall stored{noted.call.number, {}, noted.result, noted.device, noted.inode, noted.file.size()};
    std::ranges::copy(noted.call.arguments, stored.arguments);
    put(&stored, sizeof stored, noted.file.data(), noted.file.size());
  }
  auto is_looked_at = [&](const Mapping& mapping) {
    if (mapping.protection & PROT_WRITE) return true;
    if (!is_noted(mapping)) return false;
    // It is not used here any more.
    if (!(host_protection(mapping.protection) & PROT_READ))
      mprotect(reinterpret_cast<void*>(mapping.begin), mapping.end - mapping.begin, PROT_READ);
    return true;
  };
  for (PageRange range : own_pages(space, is_looked_at))
    put(&range, sizeof range, reinterpret_cast<void*>(range.begin), range.size);
}

std::vector<VforkMemory::Call> VforkMemory::calls() const {
  std::vector<Call> result;
  uint64_t count = 0;
  if (pread(fd_, &count, sizeof count, 0) != static_cast<ssize_t>(sizeof count)) return result;
  off_t at = sizeof count;
  for (uint64_t i = 0; i < count; ++i) {
    StoredCall stored;
    if (pread(fd_, &stored, sizeof stored, at) != static_cast<ssize_t>(sizeof stored)) break;
    at += static_cast<off_t>(sizeof stored);
    Call call{
        {stored.number, {}}, stored.result, std::string(stored.name_size, '\0'), stored.device, stored.inode};
    std::ranges::copy(stored.arguments, call.call.arguments.begin());
    if (pread(fd_, call.file.data(), call.file.size(), at) != static_cast<ssize_t>(call.file.size())) break;
    at += static_cast<off_t>(stored.name_size);
    result.push_back(std::move(call));
  }
  return result;
}

std::vector<ComputedAnswer::Write> VforkMemory::take(AddressSpace& space) const {
  std::vector<ComputedAnswer::Write> result;
  off_t at = sizeof(uint64_t);
  for (const Call& call : calls())
    at += static_cast<off_t>(sizeof(StoredCall) + call.file.size());
  PageRange range;
  while (pread(fd_, &range, sizeof range, at) == static_cast<ssize_t>(sizeof range)) {
    at += static_cast<off_t>(sizeof range);
    std::vector<std::byte> fresh(range.size);
    std::vector<std::byte> old(kPage);
    if (pread(fd_, fresh.data(), fresh.size(), at) != static_cast<ssize_t>(fresh.size())) break;
    at += static_cast<off_t>(range.size);
    for (size_t page = 0; page < range.size; page += kPage) {
      GuestAddr address(range.begin + page);
      const std::byte* bytes = fresh.data() + page;
      if (space.read(address, old.data(), kPage) != kPage) { // as the child has protected it
        result.push_back({address, {bytes, bytes + kPage}});
        continue;
      }
      each_difference(bytes, old.data(), kPage, [&](size_t begin, size_t end) {
        result.push_back({address + begin, {bytes + begin, bytes + end}});
      });
    }
  }
  return result;
}

} // namespace rdb::guest
