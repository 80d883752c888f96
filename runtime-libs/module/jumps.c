// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// longjmp within a region is its own business; one that would leave it, into a frame of rdb or of the
// program, is refused.
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include "runtime-libs/module/module_host.h"

#include <dlfcn.h>
#include <setjmp.h>

// glibc keeps the stack pointer there, rotated and mixed with a secret of the thread.
enum { kStackPointer = 6 };

static unsigned long target_of(const struct __jmp_buf_tag* place) {
  unsigned long sp = (unsigned long)place->__jmpbuf[kStackPointer];
  __asm__("ror $17, %0; xor %%fs:0x30, %0" : "+r"(sp));
  return sp;
}

_Noreturn static void jump(struct __jmp_buf_tag* place, int value) {
  char here;
  unsigned long sp = target_of(place);
  if (__rdb_module_host != 0 &&
      (sp < (unsigned long)&here || sp >= (unsigned long)__rdb_module_host->region_stack()))
    __rdb_module_host->refuse("longjmp (out of the region)");
  void (*real)(struct __jmp_buf_tag*, int);
  *(void**)&real = dlsym(RTLD_NEXT, "siglongjmp");
  real(place, value);
  __builtin_unreachable();
}

#define RDB_JUMP(name)                                                                                       \
  _Noreturn void rdb_jump_##name(struct __jmp_buf_tag* place, int value) __asm__(#name);                     \
  _Noreturn void rdb_jump_##name(struct __jmp_buf_tag* place, int value) {                                   \
    jump(place, value);                                                                                      \
  }
RDB_JUMP(longjmp)
RDB_JUMP(_longjmp)
RDB_JUMP(siglongjmp)
RDB_JUMP(__longjmp_chk)
