// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/arena.h"

#include "rdbtool/base/error.h"

#include <cerrno>
#include <cstdint>
#include <sys/mman.h>

namespace rdb::engine {
namespace {

constexpr size_t kFirstChunk = 256 << 10; // many programs need no more
constexpr size_t kChunk = 2 << 20;        // a huge page

} // namespace

void no_memory_for_code() {
  limit("there is not enough memory for the translation of more code ({})", std::strerror(errno));
}

Arena::~Arena() {
  for (const Chunk& chunk : chunks_)
    munmap(chunk.mapping, chunk.mapped);
}

void Arena::next_chunk(size_t wanted) {
  if (current_ < chunks_.size()) ++current_;
  used_ = 0;
  if (current_ == chunks_.size()) {
    const bool huge = !chunks_.empty();
    Chunk chunk{nullptr, huge ? 2 * kChunk : kFirstChunk, nullptr, huge ? kChunk : kFirstChunk};
    chunk.mapping = mmap(nullptr, chunk.mapped, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (chunk.mapping == MAP_FAILED) no_memory_for_code();
    auto begin = reinterpret_cast<uint64_t>(chunk.mapping);
    if (huge) begin = (begin + kChunk - 1) & ~(kChunk - 1);
    chunk.begin = reinterpret_cast<std::byte*>(begin);
    if (huge) madvise(chunk.begin, chunk.size, MADV_HUGEPAGE); // where there are none, it is only slower
    chunks_.push_back(chunk);
  }
  RDB_CHECK(wanted <= chunks_[current_].size);
}

} // namespace rdb::engine
