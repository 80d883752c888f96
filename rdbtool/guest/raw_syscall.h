// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A system call without libc: no errno, no cancellation, the kernel's own result.
#pragma once

#include <cstdint>

namespace rdb::guest {

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

} // namespace rdb::guest
