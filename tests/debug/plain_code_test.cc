// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What counts as code that needs neither FS nor vector registers: only what is known for sure.
#include "rdbtool/debug/regions/plain_code.h"

#include <gtest/gtest.h>

// Functions of which only the code is looked at.
#define CODE(name, text)                                                                                     \
  extern "C" const char name[];                                                                              \
  asm(".text\n.globl " #name "\n" #name ":\n" text "\n")

CODE(rdb_plain_libc, "ret");
CODE(rdb_plain_numbers, "push %rbp; mov %rsp, %rbp; mov (%rdi), %rax; imul $3, %rax; div %rcx; shr $2, %rax;"
                        "cmp $5, %rax; cmovb %rcx, %rax; sete %dl; movzbl %dl, %edx; bsr %rax, %rcx;"
                        "lock cmpxchg %rcx, (%rdi); rep movsb; leave; ret");
CODE(rdb_plain_loop, "1: dec %rdi; jnz 1b; test %rdi, %rdi; jz 2f; call rdb_plain_numbers; 2: ret");
CODE(rdb_plain_recursion, "dec %rdi; jz 1f; call rdb_plain_recursion; 1: ret");
CODE(rdb_plain_variable, "test %al, %al; je 1f; movaps %xmm0, 8(%rsp); movaps %xmm7, 24(%rsp); 1: ret");
CODE(rdb_plain_until_libc,
     "test %edi, %edi; jz 1f; call rdb_plain_libc; movaps %xmm1, %xmm0; call *%rax; 1: ret");
CODE(rdb_plain_ud2, "ud2; mov %fs:0, %rax");

CODE(rdb_odd_fs, "mov %fs:0x28, %rax; ret");
CODE(rdb_odd_gs, "mov %gs:(%rdi), %rax; ret");
CODE(rdb_odd_wrfs, "wrfsbase %rdi; ret");
CODE(rdb_odd_vector, "movaps (%rdi), %xmm0; ret");
CODE(rdb_odd_zero, "xorps %xmm0, %xmm0; ret");
CODE(rdb_odd_swap, "movaps %xmm0, %xmm1; ret");
CODE(rdb_odd_x87, "fld1; ret");
CODE(rdb_odd_mmx, "movd %edi, %mm0; ret");
CODE(rdb_odd_mxcsr, "ldmxcsr (%rdi); ret");
CODE(rdb_odd_direction, "std; ret");
CODE(rdb_odd_flags, "push %rdi; popfq; ret");
CODE(rdb_odd_kernel, "syscall; ret");
CODE(rdb_odd_register_call, "call *%rax; ret");
CODE(rdb_odd_jump, "jmp *%rax");
CODE(rdb_odd_table, "jmp *8(%rdi,%rax,8)");
CODE(rdb_odd_deep, "call rdb_plain_numbers; call rdb_odd_zero; ret");
CODE(rdb_odd_branch, "test %edi, %edi; jnz 1f; ret; 1: jmp rdb_odd_fs");
CODE(rdb_odd_before_libc, "xorps %xmm0, %xmm0; call rdb_plain_libc; ret");
CODE(rdb_odd_after_libc, "test %edi, %edi; jz 1f; call rdb_plain_libc; 1: xorps %xmm0, %xmm0; ret");
CODE(rdb_odd_outside, "jmp .+0x40000000");

asm(".data\n.balign 8\nrdb_slot_good: .quad 0x1111\nrdb_slot_odd: .quad 0x2222\nrdb_slot_other: .quad "
    "0x3333\n.text");
CODE(rdb_plain_slot, "call *rdb_slot_good(%rip); ret");
CODE(rdb_plain_guarded,
     "mov rdb_slot_good(%rip), %r8; mov %r8, -8(%rsp); movabs $0x1000, %rdx; lea rdb_odd_fs(%rip), %rax;"
     "cmp %rdx, %r8; cmovb %rax, %r8; mov $0, %al; lea 8(%rsp), %rdx; call *%r8; ret");
CODE(rdb_plain_other_way,
     "mov rdb_slot_good(%rip), %r8; movabs $0x1000, %rdx; lea rdb_odd_fs(%rip), %rax; cmp %rdx, %r8;"
     "cmovae %r8, %rax; call *%rax; ret");
CODE(rdb_odd_slot, "call *rdb_slot_odd(%rip); ret");
CODE(rdb_odd_variable_slot, "call *rdb_slot_other(%rip); ret");
CODE(rdb_odd_guest,
     "mov rdb_slot_good(%rip), %r8; movabs $0x400000000000, %rdx; lea rdb_plain_numbers(%rip), %rax;"
     "cmp %rdx, %r8; cmovb %rax, %r8; call *%r8; ret");
CODE(rdb_odd_overwritten, "mov rdb_slot_good(%rip), %r8; mov %edi, %r8d; call *%r8; ret");
CODE(rdb_odd_part, "mov rdb_slot_good(%rip), %r8; mov $1, %r8b; call *%r8; ret");
CODE(rdb_odd_after_call, "mov rdb_slot_good(%rip), %r8; call rdb_plain_numbers; call *%r8; ret");
CODE(rdb_odd_joined, "mov rdb_slot_good(%rip), %r8; 1: call *%r8; dec %edi; mov (%rsi), %r8; jnz 1b; ret");
CODE(rdb_odd_carry,
     "mov rdb_slot_good(%rip), %r8; movabs $0x1000, %rdx; lea rdb_odd_fs(%rip), %rax; cmp %rdx, %r8;"
     "add %ecx, %ecx; cmovb %rax, %r8; call *%r8; ret");

extern "C" const char rdb_slot_good[], rdb_slot_odd[], rdb_slot_other[];

namespace rdb::debug {
namespace {

bool plain(const char* code) {
  auto constant = [](uint64_t address) -> uint64_t {
    if (address == reinterpret_cast<uint64_t>(rdb_slot_good))
      return reinterpret_cast<uint64_t>(rdb_plain_numbers);
    if (address == reinterpret_cast<uint64_t>(rdb_slot_odd)) return reinterpret_cast<uint64_t>(rdb_odd_fs);
    return 0;
  };
  return is_plain_code(code, {rdb_plain_libc, constant});
}

TEST(PlainCode, what_needs_general_registers_only) {
  EXPECT_TRUE(plain(rdb_plain_numbers));
  EXPECT_TRUE(plain(rdb_plain_loop));
  EXPECT_TRUE(plain(rdb_plain_recursion));
  EXPECT_TRUE(plain(rdb_plain_variable));
  EXPECT_TRUE(plain(rdb_plain_ud2));
}

TEST(PlainCode, what_needs_more) {
  for (const char* code :
       {rdb_odd_fs, rdb_odd_gs, rdb_odd_wrfs, rdb_odd_vector, rdb_odd_zero, rdb_odd_swap, rdb_odd_x87,
        rdb_odd_mmx, rdb_odd_mxcsr, rdb_odd_direction, rdb_odd_flags, rdb_odd_kernel, rdb_odd_register_call,
        rdb_odd_jump, rdb_odd_table, rdb_odd_deep, rdb_odd_branch, rdb_odd_outside})
    EXPECT_FALSE(plain(code)) << reinterpret_cast<const void*>(code);
  EXPECT_FALSE(is_plain_code("on no segment with code", {}));
}

TEST(PlainCode, what_asks_for_libc_first) {
  EXPECT_TRUE(plain(rdb_plain_until_libc));
  EXPECT_FALSE(is_plain_code(rdb_plain_until_libc, {}));
  EXPECT_FALSE(plain(rdb_odd_before_libc));
  EXPECT_FALSE(plain(rdb_odd_after_libc));
}

TEST(PlainCode, calls_through_words_that_never_change) {
  EXPECT_TRUE(plain(rdb_plain_slot));
  EXPECT_TRUE(plain(rdb_plain_guarded));
  EXPECT_TRUE(plain(rdb_plain_other_way));
  for (const char* code : {rdb_odd_slot, rdb_odd_variable_slot, rdb_odd_overwritten, rdb_odd_part,
                           rdb_odd_after_call, rdb_odd_joined, rdb_odd_carry})
    EXPECT_FALSE(plain(code)) << reinterpret_cast<const void*>(code);
}

} // namespace
} // namespace rdb::debug
