// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/arena.h"

#include "rdbtool/base/error.h"

#include <cerrno>
#include <cstdint>
#include <sys/mman.h>

namespace rdb::engine {
namespace {

constexpr size_t kFirstSlab = 256 << 10; // many programs need no more
constexpr size_t kSlab = 2 << 20;        // a huge page

} // namespace

void no_memory_for_code() {
  limit("there is not enough memory for the translation of more code ({})", std::strerror(errno));
}

Arena::~Arena() {
  for (const Slab& slab : slabs_)
    munmap(slab.mapping, slab.mapped);
}

void Arena::next_slab(size_t wanted) {
  if (current_ < slabs_.size()) ++current_;
  used_ = 0;
  if (current_ == slabs_.size()) {
    const bool huge = !slabs_.empty();
    Slab slab{nullptr, huge ? 2 * kSlab : kFirstSlab, nullptr, huge ? kSlab : kFirstSlab};
    slab.mapping = mmap(nullptr, slab.mapped, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab.mapping == MAP_FAILED) no_memory_for_code();
    auto begin = reinterpret_cast<uint64_t>(slab.mapping);
    if (huge) begin = (begin + kSlab - 1) & ~(kSlab - 1);
    slab.begin = reinterpret_cast<std::byte*>(begin);
    if (huge) madvise(slab.begin, slab.size, MADV_HUGEPAGE); // where there are none, it is only slower
    slabs_.push_back(slab);
  }
  RDB_CHECK(wanted <= slabs_[current_].size);
}

} // namespace rdb::engine
