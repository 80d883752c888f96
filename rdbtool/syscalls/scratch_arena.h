// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that the kernel writes in place of guest memory. One mapping with an inaccessible page behind it
// serves nearly every call; what does not fit gets a mapping of its own. A buffer of which the guest could
// write only the first part is placed so that the same part lies before an inaccessible page: the kernel then
// faults where it would have faulted natively, and every partial result is the native one for free.
// No heap, no errno: usable on paths that run without the host's TLS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdb {

class ScratchArena {
public:
  static constexpr size_t kDefaultSize = 1 << 20;

  explicit ScratchArena(size_t size = kDefaultSize);
  ~ScratchArena();
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;

  // `size` bytes whose address equals `like` modulo 64, or modulo the page for buffers that O_DIRECT may see.
  std::byte* allocate(size_t size, uint64_t like);
  // `size` bytes that end at an inaccessible page.
  std::byte* allocate_before_fault(size_t size);
  // `size` bytes in pages of their own, at the place in them that `like` has in its.
  std::byte* allocate_pages(size_t size, uint64_t like);
  // Lets the kernel only read these pages, or not even that.
  enum class PageAccess : uint8_t { read, none };
  static void restrict(std::byte* page, size_t size, PageAccess access);
  // An address at which every access faults.
  std::byte* fault_address() const { return end_; }

  // Gives everything back. A large mapping is kept for the next call, up to kKeptOverflow.
  void reset() {
    next_ = begin_;
    if (overflows_ != nullptr) [[unlikely]]
      release_overflows();
  }

  template <class T>
  T* allocate_array(size_t count) {
    return reinterpret_cast<T*>(allocate(count * sizeof(T), 0));
  }

private:
  static constexpr size_t kKeptOverflow = 8 << 20;

  struct Overflow;
  std::byte* map(size_t size, bool keepable);
  void release_overflows();

  std::byte* begin_ = nullptr;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  Overflow* overflows_ = nullptr; // in use
  Overflow* kept_ = nullptr;      // free, for reuse
};

} // namespace rdb
