// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls without libc, for code that runs with the guest's FS base in place: there is no errno to write
// to. Results are the kernel's: a negative error number or the value.
#pragma once

#include <cstdint>

namespace rdb::trace {

inline long raw_syscall(long number, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0,
                        uint64_t e = 0, uint64_t f = 0) {
  register uint64_t r10 asm("r10") = d;
  register uint64_t r8 asm("r8") = e;
  register uint64_t r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <class T>
uint64_t raw_pointer(T* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

} // namespace rdb::trace
