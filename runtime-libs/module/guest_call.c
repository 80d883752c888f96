// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of the program's functions. rdb-clang has the module put the function's address into
// __rdb_guest_target and call __rdb_guest_call, which hands both over to rdb; every other register is as the
// caller left it, so that the arguments arrive whatever they are. __rdb_watched_call is for functions, the
// program's or not, that are given memory of the program; __rdb_always_watched_call for those that may find
// some by themselves. What of them is debug code is called as it is: it keeps what it writes.
#include "runtime-libs/module/module_host.h"

#include <stddef.h>

__attribute__((visibility("hidden"))) void* __rdb_guest_target;

_Static_assert(offsetof(struct rdb_module_host, guest_call) == 16 &&
                   offsetof(struct rdb_module_host, always_watched_call) == 184,
               "used below");

__asm__(".text\n"
        ".globl __rdb_guest_call\n"
        ".hidden __rdb_guest_call\n"
        ".type __rdb_guest_call, @function\n"
        "__rdb_guest_call:\n"
        "  mov __rdb_module_host@GOTPCREL(%rip), %r11\n"
        "  mov (%r11), %r11\n"
        "  push 16(%r11)\n"
        "  mov __rdb_guest_target(%rip), %r11\n"
        "  ret\n"
        ".size __rdb_guest_call, .-__rdb_guest_call\n"
        ".globl __rdb_watched_call\n"
        ".hidden __rdb_watched_call\n"
        ".type __rdb_watched_call, @function\n"
        "__rdb_watched_call:\n"
        "  jmp __rdb_guest_call\n"
        ".size __rdb_watched_call, .-__rdb_watched_call\n"
        // The first and the last byte of the module.
        ".hidden __ehdr_start\n"
        ".hidden _end\n"
        ".globl __rdb_always_watched_call\n"
        ".hidden __rdb_always_watched_call\n"
        ".type __rdb_always_watched_call, @function\n"
        "__rdb_always_watched_call:\n"
        "  mov __rdb_guest_target(%rip), %r11\n"
        "  lea __ehdr_start(%rip), %r10\n"
        "  cmp %r10, %r11\n"
        "  jb 1f\n"
        "  lea _end(%rip), %r10\n"
        "  cmp %r10, %r11\n"
        "  jb 2f\n"
        "1:\n"
        "  mov __rdb_module_host@GOTPCREL(%rip), %r10\n"
        "  mov (%r10), %r10\n"
        "  test %r10, %r10\n" // no rdb around
        "  je 2f\n"
        "  push 184(%r10)\n"
        "  ret\n"
        "2:\n"
        "  jmp *%r11\n"
        ".size __rdb_always_watched_call, .-__rdb_always_watched_call\n");
