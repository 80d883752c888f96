// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/state_hash.h"

#include "rdbtool/base/hash.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace rdb::guest {
namespace {

constexpr uint64_t kPresentOrSwapped = 3ull << 62;

// Which pages of a mapping may hold something: a bit pattern from the kernel's page map. A page that was
// never touched in an anonymous mapping is zero without being looked at.
class PageMap {
public:
  PageMap() : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~PageMap() {
    if (fd_ >= 0) close(fd_);
  }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  std::vector<uint64_t> entries(uint64_t begin, uint64_t count) const {
    std::vector<uint64_t> result(count, ~0ull);
    if (fd_ < 0) return result;
    ssize_t n = pread(fd_, result.data(), count * 8, static_cast<off_t>(begin / kPage * 8));
    if (n != static_cast<ssize_t>(count * 8)) result.assign(count, ~0ull);
    return result;
  }

private:
  int fd_;
};

bool is_zero(const uint8_t* page) {
  return page[0] == 0 && std::memcmp(page, page + 1, kPage - 1) == 0;
}

} // namespace

StateHash hash_state(Machine& machine) {
  StateHash result;
  Xxh64 memory;
  PageMap page_map;
  for (const auto& [begin, mapping] : machine.space().mappings()) {
    if (!(mapping.protection & PROT_WRITE) || !(mapping.protection & PROT_READ)) continue;
    // What several processes share may be there without this one's having touched it.
    bool anonymous = (mapping.flags & (MAP_ANONYMOUS | MAP_SHARED)) == MAP_ANONYMOUS;
    std::vector<uint64_t> entries = page_map.entries(mapping.begin, (mapping.end - mapping.begin) / kPage);
    for (uint64_t page = mapping.begin; page < mapping.end; page += kPage) {
      if (anonymous && !(entries[(page - mapping.begin) / kPage] & kPresentOrSwapped)) continue;
      // A page of a file beyond its end cannot be read.
      uint8_t copy[kPage];
      if (!anonymous && machine.space().read(GuestAddr(page), copy, kPage) != kPage) continue;
      const uint8_t* bytes = anonymous ? reinterpret_cast<const uint8_t*>(page) : copy;
      if (is_zero(bytes)) continue;
      memory.update(&page, sizeof page);
      memory.update(bytes, kPage);
      ++result.pages;
    }
  }
  result.memory = memory.digest();
  Xxh64 registers;
  if (machine.loaded() != nullptr) machine.save_current();
  for (const auto& [id, thread] : machine.threads()) {
    registers.update(&thread->registers, sizeof thread->registers);
    registers.update(thread->vectors.data(), thread->vectors.size());
  }
  result.registers = registers.digest();
  return result;
}

uint64_t hash_registers(Machine& machine) {
  machine.save_current();
  const Thread& thread = machine.current();
  Xxh64 hash;
  hash.update(&thread.registers, sizeof thread.registers);
  hash.update(thread.vectors.data(), thread.vectors.size());
  return hash.digest();
}

} // namespace rdb::guest
