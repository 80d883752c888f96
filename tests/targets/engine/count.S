// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program without libc whose instructions can be counted one by one: loops, calls, indirect jumps, string
// instructions with large and zero counts, system calls, and a fault with a handler. The native count comes from
// single-stepping (tests/engine/count_native.c), rdb's must be the same number.
  .text
  .globl _start
_start:
  // A loop with a store, and one whose body is a single instruction.
  mov $200, %ecx
  lea buffer(%rip), %rdi
1:
  mov %ecx, (%rdi)
  add $4, %rdi
  dec %ecx
  jnz 1b
  mov $50, %ecx
2:
  loop 2b

  // Calls: direct, through a register, through memory, nested; one function returns to several places.
  mov $20, %ebx
3:
  call work
  lea work(%rip), %rax
  call *%rax
  call *pointer(%rip)
  dec %ebx
  jnz 3b

  // A jump table.
  xor %ebx, %ebx
4:
  mov %ebx, %eax
  and $3, %eax
  lea table(%rip), %rdx
  movslq (%rdx,%rax,4), %rax
  add %rdx, %rax
  jmp *%rax
case0:
  nop
case1:
  nop
  nop
case2:
  jmp 5f
case3:
  cmp $7, %ebx
  je 5f
  nop
5:
  inc %ebx
  cmp $40, %ebx
  jb 4b

  // String instructions: one each, however long; also when they do nothing.
  lea buffer(%rip), %rdi
  mov $4000, %ecx
  xor %eax, %eax
  rep stosb
  xor %ecx, %ecx
  rep stosb
  lea buffer(%rip), %rsi
  lea buffer+2000(%rip), %rdi
  mov $1500, %ecx
  repe cmpsb
  lea buffer(%rip), %rdi
  mov $100, %ecx
  mov $1, %al
  repne scasb
  movsb
  stosq

  // System calls count as one, and so do the instructions around them.
  mov $15, %ebx
6:
  mov $39, %eax
  syscall
  dec %ebx
  jnz 6b

  // A long straight run, longer than any block. What the system call returned must not decide the path.
  xor %eax, %eax
  .rept 300
  add %rbx, %rax
  .endr
  .rept 40
  test $1, %al
  jz 7f
  nop
7:
  inc %rax
  .endr

  // A fault: the faulting instruction itself is not counted, the handler's instructions are.
  mov $13, %eax
  mov $11, %edi
  lea action(%rip), %rsi
  xor %edx, %edx
  mov $8, %r10d
  syscall
  xor %r8d, %r8d
  mov $1, %r9d
  mov %r9, (%r8)
  .globl after_fault
after_fault:
  mov $1, %eax
  mov $1, %edi
  lea text(%rip), %rsi
  mov $8, %edx
  syscall
  mov $231, %eax
  mov $5, %edi
  syscall
  ud2

work:
  push %rcx
  mov $3, %ecx
1:
  add %rcx, %rax
  dec %rcx
  jnz 1b
  pop %rcx
  ret

handler:
  lea after_fault(%rip), %rax
  mov %rax, 168(%rdx)  // uc_mcontext.gregs[REG_RIP]
  ret

restorer:
  mov $15, %eax
  syscall

  .section .rodata
  .balign 4
table:
  .long case0 - table, case1 - table, case2 - table, case3 - table
text:
  .ascii "counted\n"

  .data
  .balign 8
pointer:
  .quad work
action:
  .quad handler, 0x04000004, restorer, 0  // SA_RESTORER | SA_SIGINFO

  .bss
buffer:
  .skip 8192
  .section .note.GNU-stack,"",@progbits
