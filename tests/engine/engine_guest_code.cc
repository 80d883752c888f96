// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Guest code for tests of the engine: see engine_fixture.h.

// rdi: 4096 bytes, rsi: rounds. Flags live over calls, indirect calls, carries, returns to two places.
asm(R"(
    .text
    .globl rdb_test_code, rdb_test_function, rdb_test_constant, rdb_test_faults, rdb_test_ends, rdb_test_code_end
    .globl rdb_test_lazy, rdb_test_slot, rdb_test_strides, rdb_test_gathers, rdb_test_wide
rdb_test_code:
    mov %rsi, %rcx
    xor %eax, %eax
1:  mov %rcx, %rdx
    imul $0x1E3779B1, %rdx, %rdx
    add %rdx, %rax
    adc $3, %rbx
    rol $7, %rax
    mov %rax, %r8
    and $0xff8, %r8d
    mov %rax, (%rdi,%r8)
    cmp %rax, (%rdi,%r8)
    jne 9f
    test $1, %al
    jz 2f
    call rdb_test_function
    jmp 3f
2:  lea rdb_test_function(%rip), %r10
    call *%r10
3:  setc %r11b
    sbb %r12, %r12
    pushf
    pop %r13
    mov rdb_test_constant(%rip), %rbp
    add %rbp, %rbx
    movq %rax, %xmm3
    paddq %xmm3, %xmm4
    cmp $5, %r8
    jb 4f
    ror %cl, %r14
4:  dec %rcx
    jnz 1b
9:  syscall
rdb_test_function:
    xor %r8, %rax
    shl %cl, %r14
    jc 5f
    inc %r15
5:  ret
rdb_test_constant:
    .quad 0x123456789abcdef
# Each access through a register of its own, with flags of its own before it. ecx: rounds.
rdb_test_faults:
6:  add $1, %rax
    mov %rax, (%rdi)
    adc $0x7f, %rbx
    add %rbx, (%rsi)
    sbb %rdx, %rdx
    cmp (%r8), %rbx
    jb 7f
    inc %rbx
7:  push %rbx
    mov (%r9), %r15
    xor %r15, %rax
    test %rbx, (%r10)
    cmovz %rax, %rdx
    pop %rbx
    movdqu (%r11), %xmm1
    dec %ecx
    jnz 6b
    syscall
# Goes through memory in steps of every kind, upwards and downwards. rdi: 4096 bytes, rsi: rounds.
rdb_test_strides:
    mov %rsi, %r9
1:  xor %edx, %edx
2:  mov %al, 0x100(%rdi,%rdx)
    lea 3(%rax,%rdx), %eax
    cmp %eax, 0x100(%rdi,%rdx,4)
    mov %ax, 0x400(%rdi,%rdx,4)
    inc %rdx
    cmp $50, %rdx
    jb 2b
    lea 0xA00(%rdi), %rbx
    mov $40, %ecx
3:  mov %eax, (%rbx)
    add %eax, 4(%rbx)
    movq %rax, %xmm3
    movdqu %xmm3, -0x21(%rbx)
    lea -7(%rbx), %rbx
    adc %rcx, %rax
    push %rax
    mov %rax, -0x18(%rsp)
    sub $0x20, %rsp
    mov %rcx, 8(%rsp)
    add $0x20, %rsp
    pop %r8
# These touch memory elsewhere than their operand says.
    bts %rcx, 0x700(%rdi)
    imul $-37, %ecx, %r11d
    btc %r11d, 0x900(%rdi)
    lock btr %r11w, 0x800(%rdi)
    push %rax
    push %rcx
    popq 8(%rsp)
    pop %r8
    dec %ecx
    jnz 3b
    mov %rdi, %rbx
    mov $0x300, %r10
4:  mov %eax, (%rbx,%r10)
    add $2, %rbx
    mov %al, 1(%rbx,%r10)
    sub $5, %r10
    mov (%rbx,%r10), %r11b
    xchg %r11, (%rbx,%r10)
    inc %r10d
    dec %r10
    cmp $0x40, %r10
    ja 4b
    dec %r9
    jnz 1b
    syscall
# One gather: elements 0, 2 and 5 of those at distances 0, -1, 2 ... 7.
rdb_test_gathers:
    vmovdqu 8f(%rip), %ymm2
    vmovdqu 9f(%rip), %ymm3
    vpgatherdd %ymm3, 0x100(%rdi,%ymm2,4), %ymm1
    vmovdqu 7f(%rip), %ymm2
    vmovdqu 9f(%rip), %ymm3
    vgatherqps %xmm3, 0x200(%rdi,%ymm2,8), %xmm1
    syscall
7:  .quad 3, 0, -4, 5
8:  .long 0, -1, 2, 3, 4, 5, 6, 7
9:  .long -1, 0, 0x80000000, 0x7FFFFFFF, 0, -1, 0, 1
# AVX-512: short displacements that are scaled, masks, broadcasts, scatters. rsi: rounds.
rdb_test_wide:
    mov %rsi, %r9
    vmovdqu64 9f(%rip), %zmm18
    lea 0x800(%rdi), %rbx
1:  imul $0x1E3779B1, %eax, %eax
    lea 1(%rax,%r9), %eax
    kmovd %eax, %k1
    kmovq %k1, %k2
    vpbroadcastd %eax, %zmm16
    vpaddd %zmm18, %zmm16, %zmm16
    vmovdqu64 %zmm16, 0x40(%rdi)
    vmovdqu64 %ymm16, -0x60(%rbx)
    vmovdqu8 %zmm16, 0x80(%rdi){%k1}
    vmovdqu32 %xmm16, 0x300(%rdi,%r9,2)
    vpaddd 0x40(%rdi){1to16}, %zmm16, %zmm17
    vmovups 0x1c0(%rdi), %zmm19{%k1}{z}
    vpscatterdd %zmm17, 0x400(%rdi,%zmm18,2){%k2}
    kmovq %k1, %k2
    vpgatherdd 0x400(%rdi,%zmm18,2), %zmm20{%k2}
    vpmovqb %zmm17, 0x700(%rdi)
    vpcompressd %zmm17, 0x60(%rdi,%r9,4){%k1}
    vmovd %xmm17, 4(%rdi)
    add $3, %rbx
    dec %r9
    jnz 1b
    vzeroupper
    syscall
9:  .long 0, 90, 3, 17, 1, 60, 77, 8, 120, 33, 21, 40, 44, 50, 9, 11
# Flags live across every kind of block end. They are made of a changing word, and seen behind the end; rax
# collects them. rbx: rounds; rdi: memory with a copy of rsi, which is not zero.
    .macro make_flags
    imul $0x1E3779B1, %rax, %rax
    inc %rax
    mov %rax, %rdx
    add %rdx, %rdx
    .endm
    .macro see_flags
    pushf
    pop %rdx
    and $0x8D5, %edx
    rol $5, %rax
    xor %rdx, %rax
    .endm
rdb_test_ends:
    make_flags
    jmp 1f
    nop
1:  see_flags
    .irp condition, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
    make_flags
    j\condition 1f
    see_flags
    make_flags
1:  see_flags
    .endr
    .irp count, 1, 2
    .irp ending, loop, loope, loopne
    make_flags
    mov $\count, %ecx
    \ending 1f
1:  see_flags
    make_flags
    mov $\count, %ecx
    \ending 1f
    see_flags
    mov $7, %rcx
1:  see_flags
    .endr
    .endr
    .irp ending, jrcxz, jecxz
    make_flags
    mov %eax, %ecx
    and %rsi, %rcx
    make_flags
    \ending 1f
    see_flags
1:  see_flags
    .endr
    make_flags
    call 8f
    see_flags
    make_flags
    call 9f
    see_flags
    lea 8f(%rip), %r8
    make_flags
    call *%r8
    see_flags
    lea 1f(%rip), %r8
    make_flags
    jmp *%r8
1:  see_flags
    lea 1f(%rip), %r8
    mov %r8, 8(%rdi)
    make_flags
    jmp *8(%rdi)
1:  see_flags
    lea 1f(%rip), %r8
    make_flags
    push %r8
    ret
1:  see_flags
    make_flags
    push %rsi
    push %rsi
    lea 1f(%rip), %r8
    push %r8
    ret $16
1:  see_flags
    make_flags
    popcnt %rsi, %r9
    .rept 60
    lea 1(%r9), %r9
    .endr
    see_flags
    make_flags
    lea (%rsp), %r9
    pushf
    popf
    see_flags
    sub $1, %rbx
    jnz rdb_test_ends
    syscall
8:  see_flags
    make_flags
    ret
9:  mov (%rsp), %r8
    lea 8(%rsp), %rsp
    jmp *%r8
# Calls through a slot that is filled at the first call, which comes when rbx rounds are left of rsi.
rdb_test_lazy:
1:  cmp %rbx, %rsi
    ja 2f
    call 3f
2:  adc $5, %rax
    dec %rsi
    jnz 1b
    syscall
3:  endbr64
    jmp *rdb_test_slot(%rip)
4:  endbr64
    push $0
    lea 5f(%rip), %r8
    mov %r8, rdb_test_slot(%rip)
    lea 8(%rsp), %rsp
    jmp *%r8
5:  lea 3(%rax,%rax,2), %rax
    ret
    .balign 8
rdb_test_slot:
    .quad 4b - rdb_test_code
rdb_test_code_end:
    nop
    .skip 32
)");
