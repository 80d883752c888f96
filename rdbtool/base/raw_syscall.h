// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A system call without libc: no errno, which is thread-local and may be the guest's, and no cancellation.
// The result is the kernel's: a value, or a negative error number.
#pragma once

#include <cstdint>

namespace rdb {

inline int64_t raw_syscall(int64_t number, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0,
                           int64_t e = 0, int64_t f = 0) {
  int64_t result;
  register int64_t r10 asm("r10") = d;
  register int64_t r8 asm("r8") = e;
  register int64_t r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

// A pointer as an argument of raw_syscall().
inline int64_t raw_pointer(const void* pointer) {
  return reinterpret_cast<int64_t>(pointer);
}

} // namespace rdb
