// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scratch memory of system calls: a bump pointer, overflow mappings, and inaccessible pages after both.
#include "rdbtool/syscalls/scratch_arena.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"

#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb {
namespace {

constexpr size_t kPage = 4096;
// Inaccessible bytes after each mapping: more than the offset of any field that the kernel writes first.
constexpr size_t kGuard = 64 << 10;
// Buffers of this size and more may be used for direct I/O, which looks at their alignment.
constexpr size_t kDirectIo = 512;

constexpr size_t pages_up(size_t size) {
  return (size + kPage - 1) & ~(kPage - 1);
}

// `size` bytes, a multiple of the page, and inaccessible pages after them.
std::byte* map_with_guard(size_t size) {
  int64_t at =
      raw_syscall(SYS_mmap, 0, size + kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at < 0) limit("no memory for {} bytes of output of one system call", size);
  int64_t result = raw_syscall(SYS_mprotect, at, size, PROT_READ | PROT_WRITE);
  if (result < 0) limit("no memory for {} bytes of output of one system call", size);
  return reinterpret_cast<std::byte*>(at);
}

void unmap(std::byte* begin, size_t size_with_guard) {
  raw_syscall(SYS_munmap, raw_pointer(begin), size_with_guard);
}

} // namespace

// Lies at the beginning of its own mapping, in a page of its own.
struct ScratchArena::Overflow {
  Overflow* next;
  size_t size; // usable bytes after the header page
  bool keepable;

  std::byte* data() { return reinterpret_cast<std::byte*>(this) + kPage; }
  void release() { unmap(reinterpret_cast<std::byte*>(this), kPage + size + kGuard); }
};

ScratchArena::ScratchArena(size_t size) {
  size = pages_up(size);
  begin_ = map_with_guard(size);
  next_ = begin_;
  end_ = begin_ + size;
}

ScratchArena::~ScratchArena() {
  reset();
  if (kept_ != nullptr) kept_->release();
  unmap(begin_, static_cast<size_t>(end_ - begin_) + kGuard);
}

std::byte* ScratchArena::map(size_t size, bool keepable) {
  size = pages_up(size);
  Overflow* overflow;
  if (keepable && kept_ != nullptr && kept_->size >= size) {
    overflow = kept_;
    kept_ = nullptr;
  } else {
    overflow = reinterpret_cast<Overflow*>(map_with_guard(kPage + size));
    overflow->size = size;
    overflow->keepable = keepable && size <= kKeptOverflow;
  }
  overflow->next = overflows_;
  overflows_ = overflow;
  return overflow->data();
}

std::byte* ScratchArena::allocate(size_t size, uint64_t like) {
  uint64_t alignment = size >= kDirectIo ? kPage : 64;
  uint64_t from = reinterpret_cast<uint64_t>(next_);
  uint64_t at = from + ((like - from) & (alignment - 1));
  uint64_t room = reinterpret_cast<uint64_t>(end_) - from;
  if (size <= room && at - from <= room - size) {
    next_ = reinterpret_cast<std::byte*>(at + size);
    return reinterpret_cast<std::byte*>(at);
  }
  return map((like & (alignment - 1)) + size, true) + (like & (alignment - 1));
}

std::byte* ScratchArena::allocate_before_fault(size_t size) {
  if (size == 0) return end_;
  return map(size, false) + (pages_up(size) - size);
}

std::byte* ScratchArena::allocate_pages(size_t size, uint64_t like) {
  size_t offset = like % kPage;
  return map(offset + size, false) + offset;
}

void ScratchArena::restrict(std::byte* page, size_t size, PageAccess access) {
  int protection = access == PageAccess::read ? PROT_READ : PROT_NONE;
  int64_t result = raw_syscall(SYS_mprotect, raw_pointer(page), pages_up(size), protection);
  if (result < 0) limit("no memory for {} bytes of output of one system call", size);
}

void ScratchArena::release_overflows() {
  while (overflows_ != nullptr) {
    Overflow* overflow = overflows_;
    overflows_ = overflow->next;
    bool better = overflow->keepable && (kept_ == nullptr || kept_->size < overflow->size);
    if (!better) {
      overflow->release();
      continue;
    }
    if (kept_ != nullptr) kept_->release();
    kept_ = overflow;
  }
}

} // namespace rdb
