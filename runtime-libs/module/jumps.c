// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// longjmp within a region is its own business; one that would leave it, into a frame of rdb or of the
// program, or into an earlier run of a region, whose frame is long gone, is refused. So is one to a stack in
// the program's memory.
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include "runtime-libs/module/module_host.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <ucontext.h>

// glibc keeps the stack pointer there, rotated and mixed with a secret of the thread.
enum { kStackPointer = 6 };

static unsigned long target_of(const struct __jmp_buf_tag* place) {
  unsigned long sp = (unsigned long)place->__jmpbuf[kStackPointer];
  __asm__("ror $17, %0; xor %%fs:0x30, %0" : "+r"(sp));
  return sp;
}

// The kernel knows 64 signals, so the last word of the mask is free to say in which run the place was set.
static unsigned long* run_of(struct __jmp_buf_tag* place) {
  return &place->__saved_mask.__val[sizeof place->__saved_mask.__val / sizeof(unsigned long) - 1];
}

__attribute__((visibility("hidden"))) void* __rdb_note_run(struct __jmp_buf_tag* place);
void* __rdb_note_run(struct __jmp_buf_tag* place) {
  static void* real;
  if (real == 0) real = dlsym(RTLD_NEXT, "__sigsetjmp");
  __rdb_keep(place, sizeof *place);
  if (__rdb_module_host != 0) *run_of(place) = __rdb_module_host->run_number();
  return real;
}

// libc's function has to be entered with its caller's return address and registers.
__asm__(".text\n"
        ".globl setjmp\n"
        ".globl _setjmp\n"
        ".globl __sigsetjmp\n"
        ".hidden setjmp\n"
        ".hidden _setjmp\n"
        ".hidden __sigsetjmp\n"
        ".type setjmp, @function\n"
        ".type _setjmp, @function\n"
        ".type __sigsetjmp, @function\n"
        "setjmp:\n"
        "  mov $1, %esi\n"
        "  jmp __sigsetjmp\n"
        "_setjmp:\n"
        "  xor %esi, %esi\n"
        "__sigsetjmp:\n"
        "  push %rdi\n"
        "  push %rsi\n"
        "  sub $8, %rsp\n"
        "  call __rdb_note_run\n"
        "  add $8, %rsp\n"
        "  pop %rsi\n"
        "  pop %rdi\n"
        "  jmp *%rax\n"
        ".size __sigsetjmp, .-__sigsetjmp\n");

_Noreturn static void jump(struct __jmp_buf_tag* place, int value) {
  char here;
  unsigned long sp = target_of(place);
  if (__rdb_module_host != 0) {
    if (sp < (unsigned long)&here || sp >= (unsigned long)__rdb_module_host->region_stack())
      __rdb_module_host->refuse("longjmp (out of the region)");
    if (*run_of(place) != __rdb_module_host->run_number())
      __rdb_module_host->refuse("longjmp (to a setjmp of an earlier run of debug code)");
  }
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

// Debug code's stack is its own, for all that looks whose memory is written to.
__attribute__((visibility("hidden"))) void* __rdb_check_context(const ucontext_t* context);
void* __rdb_check_context(const ucontext_t* context) {
  if (__rdb_is_programs(context->uc_stack.ss_sp))
    __rdb_module_host->refuse("makecontext with a stack of the program");
  static void* real;
  if (real == 0) real = dlsym(RTLD_NEXT, "makecontext");
  return real;
}

// Its arguments are passed on as they are.
__asm__(".text\n"
        ".globl makecontext\n"
        ".hidden makecontext\n"
        ".type makecontext, @function\n"
        "makecontext:\n"
        "  push %rdi\n"
        "  push %rsi\n"
        "  push %rdx\n"
        "  push %rcx\n"
        "  push %r8\n"
        "  push %r9\n"
        "  push %rax\n"
        "  call __rdb_check_context\n"
        "  mov %rax, %r11\n"
        "  pop %rax\n"
        "  pop %r9\n"
        "  pop %r8\n"
        "  pop %rcx\n"
        "  pop %rdx\n"
        "  pop %rsi\n"
        "  pop %rdi\n"
        "  jmp *%r11\n"
        ".size makecontext, .-makecontext\n");
