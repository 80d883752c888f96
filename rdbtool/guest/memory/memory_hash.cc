// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/memory_hash.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace rdb::guest {
namespace {

constexpr uint64_t kPresentOrSwapped = 3ull << 62;
constexpr size_t kBatch = 65536;
constexpr uint64_t kPrime = 0x9E3779B97F4A7C15ull;

// Zero for a page of zeros. Four independent lanes, or the multiplications wait for each other.
uint64_t hash_page(const void* page) {
  const auto* words = static_cast<const uint64_t*>(page);
  uint64_t lane[4] = {};
  for (size_t i = 0; i < kPage / 8; i += 4)
    for (size_t k = 0; k < 4; ++k)
      lane[k] = (lane[k] + words[i + k]) * kPrime ^ lane[k] >> 29;
  return ((lane[0] * kPrime + lane[1]) * kPrime + lane[2]) * kPrime + lane[3];
}

bool is_shared(const Mapping& mapping) {
  return mapping.flags & MAP_SHARED && mapping.protection & PROT_WRITE;
}

bool copy_page(pid_t pid, uint64_t address, void* to) {
  iovec local{to, kPage};
  iovec remote{reinterpret_cast<void*>(address), kPage};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(kPage);
}

class PageMap {
public:
  PageMap() : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)), entries_(kBatch) {}
  ~PageMap() { close(fd_); }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  bool touched(uint64_t address) {
    uint64_t number = address / kPage;
    if (number < first_ || number >= first_ + count_) {
      first_ = number;
      ssize_t n = pread(fd_, entries_.data(), kBatch * 8, static_cast<off_t>(number * 8));
      if (n < 8) throw std::runtime_error("lockstep: cannot read /proc/self/pagemap");
      count_ = static_cast<size_t>(n) / 8;
    }
    return entries_[number - first_] & kPresentOrSwapped;
  }

private:
  int fd_;
  uint64_t first_ = 0;
  size_t count_ = 0;
  std::vector<uint64_t> entries_;
};

} // namespace

size_t hash_pages(const AddressSpace& space, const PageChoice& choice, PageHash* out, size_t most) {
  PageMap touched;
  size_t count = 0;
  alignas(64) uint8_t buffer[kPage];
  for (const auto& [key, mapping] : space.mappings()) {
    if (!(mapping.protection & PROT_WRITE)) continue;
    uint64_t begin = mapping.begin;
    uint64_t end = mapping.end;
    if (!choice.whole) {
      begin = std::max(begin, page_down(choice.around - choice.window));
      end = std::min(end, page_up(choice.around + choice.window));
    }
    bool anonymous = mapping.flags & MAP_ANONYMOUS && mapping.flags & MAP_PRIVATE;
    for (uint64_t page = begin; page < end && count < most; page += kPage) {
      const void* content = reinterpret_cast<const void*>(page);
      if (!touched.touched(page)) {
        // Only the kernel can look at a page of a file without the risk of a signal.
        if (anonymous || !copy_page(getpid(), page, buffer)) continue;
        content = buffer;
      }
      uint64_t hash = hash_page(content);
      if (hash != 0) out[count++] = {page, hash};
    }
  }
  return count;
}

FirstDifference first_difference(pid_t copy, uint64_t page) {
  uint8_t own[kPage] = {};
  uint8_t other[kPage] = {};
  copy_page(getpid(), page, own);
  copy_page(copy, page, other);
  for (size_t i = 0; i < kPage; ++i)
    if (own[i] != other[i]) return {page + i, own[i], other[i]};
  return {page, own[0], other[0]};
}

bool has_shared(const AddressSpace& space) {
  return std::any_of(space.mappings().begin(), space.mappings().end(),
                     [](const auto& entry) { return is_shared(entry.second); });
}

void detach_shared(const AddressSpace& space) {
  for (const auto& [key, mapping] : space.mappings()) {
    if (!is_shared(mapping)) continue;
    size_t size = mapping.end - mapping.begin;
    void* own =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (own == MAP_FAILED) throw std::runtime_error("lockstep: no memory for a copy of shared memory");
    // What lies behind the end of a file stays: it raises SIGBUS in both.
    size_t copied = 0;
    while (copied < size && copy_page(getpid(), mapping.begin + copied, static_cast<uint8_t*>(own) + copied))
      copied += kPage;
    if (copied == 0) continue;
    if (mremap(own, copied, copied, MREMAP_MAYMOVE | MREMAP_FIXED, mapping.begin) == MAP_FAILED)
      throw std::runtime_error("lockstep: cannot detach shared memory");
  }
}

} // namespace rdb::guest
