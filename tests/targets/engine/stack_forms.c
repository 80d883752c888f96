// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every way to use the stack pointer implicitly: odd pushes and pops, calls through memory that rsp
// addresses, `ret n`, enter and leave, popf, and control transfers that only assembly writes (jrcxz, loop,
// push/ret). The dead slots below rsp are hashed too: they must hold what a processor would have left there.
#include <stdio.h>
#include <string.h>

#include "hash.h"

struct Registers {
  uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, flags;
};

// Runs with rsp in the middle of a known stack, so that pushed pointers can be made relative. The form's code
// may use all registers but r15; it must leave rsp where it was.
__attribute__((visibility("hidden"), aligned(64))) uint64_t g_stack[256];
__attribute__((visibility("hidden"))) uint64_t g_host_stack;
__attribute__((visibility("hidden"))) struct Registers g_in, g_out;

#define FORM(name, code)                                                                                     \
  void name(void);                                                                                           \
  asm(".text\n.globl " #name "\n" #name ":\n"                                                                \
      "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"                                   \
      "mov %rsp, g_host_stack(%rip)\n"                                                                       \
      "lea g_stack+1024(%rip), %rsp; lea g_stack+1024(%rip), %r15\n"                                         \
      "mov g_in(%rip), %rax; mov g_in+8(%rip), %rbx; mov g_in+16(%rip), %rcx; mov g_in+24(%rip), %rdx\n"     \
      "mov g_in+32(%rip), %rsi; mov g_in+40(%rip), %rdi; mov g_in+48(%rip), %rbp\n" code "\n"                \
      "mov %rax, g_out(%rip); mov %rbx, g_out+8(%rip); mov %rcx, g_out+16(%rip); mov %rdx, g_out+24(%rip)\n" \
      "mov %rsi, g_out+32(%rip); mov %rdi, g_out+40(%rip); mov %rbp, g_out+48(%rip)\n"                       \
      "sub %rsp, %r15; mov %r15, g_out+56(%rip)\n"                                                           \
      "mov g_host_stack(%rip), %rsp\n"                                                                       \
      "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n")

FORM(push_rsp, "push %rsp; pop %rax; sub %rsp, %rax");
FORM(pop_rsp, "lea 16(%rsp), %rax; push %rax; pop %rsp; sub $16, %rsp; xor %eax, %eax");
FORM(push_rsp_memory, "movq $77, (%rsp); push (%rsp); pop %rax");
FORM(push_rsp_indexed, "mov $2, %ecx; movq $99, 24(%rsp); push 8(%rsp,%rcx,8); pop %rbx");
FORM(pop_rsp_memory, "push $1; push $2; push $3; pop 8(%rsp); pop %rax; pop %rbx");
FORM(pop_rsp_zero, "push $1; push $55; pop (%rsp); pop %rcx");
FORM(push_word, "pushw %ax; pushw $0x1234; popw %cx; popw %dx");
FORM(push_word_memory, "pushw 2(%rsp); popw %bx; pushw %sp; popw %ax; and $0xf, %eax; movw $0, -2(%rsp)");
FORM(push_immediates, "push $-1; push $0x7fffffff; push $-128; pop %rax; pop %rbx; pop %rcx");
FORM(push_segments, "push %fs; pop %rax; movzwl %ax, %eax; push %gs; pop %rbx; movzwl %bx, %ebx");
FORM(push_flags, "cmp %rax, %rbx; pushf; pop %rcx; pushfw; popw %dx");
FORM(alignment_flag,
     "pushf; pop %rax; xor $0x40000, %rax; push %rax; popf; pushf; pop %rbx; xor $0x40000, %rax; "
     "push %rax; popf; pushf; pop %rcx");
// The identification flag, which little else changes.
FORM(rare_flag,
     "pushf; pop %rax; xor $0x200000, %rax; push %rax; popf; pushf; pop %rbx; xor $0x200000, %rax; "
     "push %rax; popf; pushf; pop %rcx");
FORM(pop_flags, "push $0xcd5; popf; pushf; pop %rax; cld; pushw $0x246; popfw; pushf; pop %rbx");
FORM(enter_leave, "enter $32, $0; movq $5, -8(%rbp); mov -8(%rbp), %rax; leave");
FORM(enter_nested, "lea 64(%rsp), %rbp; mov %rbp, %rdi; enter $16, $3; mov %rsp, %rax; sub %rbp, %rax; leave;"
                   "sub %rdi, %rbp; xor %edi, %edi");
FORM(leave_word, "mov %rsp, %rbp; sub $64, %rsp; movq $7, (%rbp); leave; sub $8, %rsp");
FORM(call_rsp_memory,
     "lea 1f(%rip), %rax; mov %rax, 8(%rsp); call *8(%rsp); jmp 2f;"
     "1: mov (%rsp), %rbx; lea 3f(%rip), %rcx; sub %rcx, %rbx; ret; 3: 2: xor %eax, %eax; xor %ecx, %ecx");
FORM(call_rsp_top, "lea 1f(%rip), %rax; push %rax; call *(%rsp); 3: pop %rcx; jmp 2f;"
                   "1: lea 3b(%rip), %rbx; sub (%rsp), %rbx; ret; 2: xor %eax, %eax; xor %ecx, %ecx");
FORM(call_rsp_indexed, "lea 1f(%rip), %rax; mov %rax, 40(%rsp); mov $3, %ecx; call *16(%rsp,%rcx,8); jmp 2f;"
                       "1: inc %rbx; ret; 2: xor %eax, %eax");
FORM(call_rsp_register, "lea 1f(%rip), %rbx; call *%rbx; jmp 2f; 1: inc %rcx; ret; 2: xor %ebx, %ebx");
FORM(jump_rsp_memory, "lea 1f(%rip), %rax; mov %rax, -64(%rsp); jmp *-64(%rsp); ud2; 1: mov $8, %eax");
FORM(jump_pushed, "lea 1f(%rip), %rax; push %rax; ret; ud2; 1: mov $9, %eax");
FORM(return_n,
     "push $11; push $12; push $13; call 1f; jmp 2f; 1: mov 8(%rsp), %rax; ret $24; 2: mov %rsp, %rbx;"
     "sub %r15, %rbx");
FORM(return_odd, "sub $7, %rsp; call 1f; jmp 2f; 1: inc %rdx; ret $7; 2: movq $0, -15(%rsp)");
FORM(call_next, "call 1f; 1: pop %rax; lea 1b(%rip), %rbx; sub %rbx, %rax; xor %ebx, %ebx");
FORM(return_changed, "call 1f; ud2; 1: lea 2f(%rip), %rax; mov %rax, (%rsp); ret; ud2; 2: mov $4, %eax");
FORM(return_skipped, "call 1f; ud2; jmp 2f; 1: addq $2, (%rsp); ret; ud2; 2:");
FORM(jump_rcx, "xor %ecx, %ecx; jrcxz 1f; ud2; 1: mov $1, %ecx; jrcxz 2f; mov $5, %eax; jmp 3f; 2: ud2; 3:");
FORM(jump_ecx, "mov $0x100000000, %rcx; jecxz 1f; ud2; 1: jrcxz 2f; mov $6, %eax; jmp 3f; 2: ud2; 3:");
FORM(loops, "xor %eax, %eax; mov $10, %ecx; 1: inc %eax; loop 1b; mov $5, %ecx; 2: inc %eax; cmp $13, %eax;"
            "loopne 2b; mov $3, %ecx; 3: inc %ebx; cmp %ebx, %ebx; loope 3b");
FORM(loop_ecx, "mov $0x500000002, %rcx; xor %eax, %eax; 1: inc %eax; addr32 loop 1b; mov %rcx, %rbx");
FORM(loop_wraps,
     "xor %ecx, %ecx; loop 1f; ud2; 1: mov %rcx, %rax; mov $1, %ecx; loop 2f; inc %rbx; jmp 3f; 2: ud2; 3:");
FORM(red_zone,
     "movq $1, -8(%rsp); movq $2, -128(%rsp); cmp $1, %eax; je 1f; 1: jmp 2f; 2: mov $39, %eax; syscall;"
     "mov -8(%rsp), %rax; mov -128(%rsp), %rbx; xor %ecx, %ecx");
FORM(prefixed, "pause; .byte 0xf2; call 1f; jmp 2f; 1: .byte 0xf3; ret; "
               "2:");
FORM(far_stack,
     "mov %rsp, %rax; lea -512(%rsp), %rsp; call 1f; jmp 2f; 1: ret; 2: lea 512(%rsp), %rsp; sub %r15, %rax");

static const struct {
  const char* name;
  void (*run)(void);
} kForms[] = {
#define F(name) {#name, name}
    F(push_rsp),        F(pop_rsp),         F(push_rsp_memory),  F(push_rsp_indexed), F(pop_rsp_memory),
    F(pop_rsp_zero),    F(push_word),       F(push_word_memory), F(push_immediates),  F(push_segments),
    F(push_flags),      F(alignment_flag),  F(pop_flags),        F(enter_leave),      F(enter_nested),
    F(leave_word),      F(call_rsp_memory), F(call_rsp_top),     F(call_rsp_indexed), F(call_rsp_register),
    F(jump_rsp_memory), F(jump_pushed),     F(return_n),         F(return_odd),       F(call_next),
    F(return_changed),  F(return_skipped),  F(jump_rcx),         F(jump_ecx),         F(loops),
    F(loop_ecx),        F(loop_wraps),      F(red_zone),         F(prefixed),         F(far_stack),
};

int main(void) {
  for (size_t i = 0; i < sizeof kForms / sizeof *kForms; i++) {
    uint64_t hash = HASH_SEED;
    for (int round = 0; round < 2; round++) {
      memset(g_stack, 0, sizeof g_stack);
      struct Registers in = {0x1111, 0x22222222, 0x3333, 0x4444444444444444, 5, 6, 7, 0};
      g_in = in;
      memset(&g_out, 0xee, sizeof g_out);
      kForms[i].run();
      hash = hash_bytes(hash, &g_out, sizeof g_out);
      // Words that point into this program (saved rsp, return addresses) vary with its place: keep their
      // offset.
      for (size_t w = 0; w < 256; w++) {
        uint64_t word = g_stack[w];
        if (word - (uint64_t)g_stack < sizeof g_stack) word -= (uint64_t)g_stack;
        if (word - (uint64_t)kForms[i].run < 4096) word -= (uint64_t)kForms[i].run;
        hash = hash_word(hash, word);
      }
    }
    printf("%-18s rax %llx rbx %llx rcx %llx rdx %llx moved %lld hash %016llx\n", kForms[i].name,
           (unsigned long long)g_out.rax, (unsigned long long)g_out.rbx, (unsigned long long)g_out.rcx,
           (unsigned long long)g_out.rdx, (long long)g_out.flags, (unsigned long long)hash);
  }
  return 0;
}
