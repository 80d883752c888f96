// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug code uses the C and C++ libraries of this process. What they give back may be memory of the replayed
// program: a string which a function of the program returned, for example. Then it is not ours, and a heap
// that took it would hand it out again; see runtime-libs/module/memory.c. While no debug code runs, all of it
// is ours. The libraries find these functions instead of libc's, operator delete does too.
#include "rdbtool/debug/isolation/abort_debug_code.h"
#include "rdbtool/guest/memory/host_place.h"

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

#ifndef __SANITIZE_ADDRESS__

namespace {

bool is_programs(const void* memory) {
  return memory != nullptr && !rdb::guest::is_host(reinterpret_cast<uint64_t>(memory)) &&
         rdb::debug::can_abort_debug_code();
}

} // namespace

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void* __libc_valloc(size_t size);
void* __libc_pvalloc(size_t size);
void __libc_free(void* memory);
void* __libc_realloc(void* memory, size_t size);

void free(void* memory) {
  if (!is_programs(memory)) __libc_free(memory);
}

void* realloc(void* memory, size_t size) {
  if (is_programs(memory))
    rdb::debug::abort_debug_code(
        "a library function was to change the size of a block in the program's memory");
  return __libc_realloc(memory, size);
}

// The user may have another heap in LD_PRELOAD, for the program. What that hands out must not come here: all
// of these functions are libc's, or none.
void* malloc(size_t size) {
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return __libc_calloc(count, size);
}
void* memalign(size_t alignment, size_t size) {
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return __libc_memalign(alignment, size);
}
void* valloc(size_t size) {
  return __libc_valloc(size);
}
void* pvalloc(size_t size) {
  return __libc_pvalloc(size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) != 0 || !std::has_single_bit(alignment)) return EINVAL;
  int before = errno;
  void* block = __libc_memalign(alignment, size);
  errno = before;
  if (block == nullptr) return ENOMEM;
  *memory = block;
  return 0;
}

// In glibc the word in front of a block has the size of both, with three flags; the next block's first word
// belongs to this one, too, unless it was mapped by itself.
size_t malloc_usable_size(void* memory) {
  constexpr size_t kFlags = 7, kMapped = 2;
  if (memory == nullptr) return 0;
  size_t word = static_cast<const size_t*>(memory)[-1];
  return (word & ~kFlags) - (word & kMapped ? 2 : 1) * sizeof(size_t);
}
}

namespace {

struct NoMemory : std::bad_alloc {
  const char* what() const noexcept override {
    return "there is not enough memory (ulimit -d and ulimit -v may forbid more)";
  }
};

void* allocate(size_t size, size_t alignment) {
  if (size == 0) size = 1;
  for (;;) {
    void* block = alignment == 0 ? malloc(size) : memalign(alignment, size);
    if (block != nullptr) return block;
    std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw NoMemory();
    handler();
  }
}

void* try_to_allocate(size_t size, size_t alignment) noexcept {
  try {
    return allocate(size, alignment);
  } catch (...) {
    return nullptr;
  }
}

} // namespace

// The same of C++: another heap may bring its own.
void* operator new(size_t size) {
  return allocate(size, 0);
}
void* operator new[](size_t size) {
  return allocate(size, 0);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return try_to_allocate(size, 0);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return try_to_allocate(size, 0);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return try_to_allocate(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return try_to_allocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  free(memory);
}
void operator delete[](void* memory) noexcept {
  free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  free(memory);
}
void operator delete[](void* memory, size_t, std::align_val_t) noexcept {
  free(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  free(memory);
}

#endif
