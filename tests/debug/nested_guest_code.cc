// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Guest code for nested_run_test.cc: functions as compilers and people write them, which are copied to guest
// memory. Each is called with data of the test's own in rdi.
asm(R"(
    .text
    .balign 16
    .globl rdb_nested_code, rdb_nested_code_end, rdb_nested_back
    .globl rdb_nested_sum, rdb_nested_fib, rdb_nested_tail, rdb_nested_vectors, rdb_nested_long_double
    .globl rdb_nested_syscall, rdb_nested_rdtsc, rdb_nested_cpuid, rdb_nested_fault, rdb_nested_endless
    .globl rdb_nested_deep, rdb_nested_reads, rdb_nested_strings, rdb_nested_calls_rsi, rdb_nested_jumps_rsi
    .globl rdb_nested_changes_code, rdb_nested_changed, rdb_nested_flags, rdb_nested_callee, rdb_nested_calls
    .globl rdb_nested_store_rsi, rdb_nested_fills, rdb_nested_segments, rdb_nested_small
    .globl rdb_nested_leaves
rdb_nested_code:
rdb_nested_back:                  # where the calls return to
    mov %rax, -8(%rsp)
    nop
    syscall

rdb_nested_small:                 # a leaf, as there are many
    mov (%rdi), %eax
    lea 1(%rax,%rax), %eax
    mov %eax, 4(%rdi)
    ret

rdb_nested_sum:                   # of rsi words at rdi; writes the sums so far there, and below rsp
    xor %eax, %eax
    xor %ecx, %ecx
1:  add (%rdi,%rcx,8), %rax
    mov %rax, (%rdi,%rcx,8)
    mov %rax, -64(%rsp)
    mov %rcx, -120(%rsp)
    inc %rcx
    cmp %rsi, %rcx
    jb 1b
    ret

rdb_nested_fib:                   # of rsi
    push %rbx
    push %rsi
    mov %rsi, %rax
    cmp $2, %rsi
    jb 2f
    dec %rsi
    call rdb_nested_fib
    mov %rax, %rbx
    mov (%rsp), %rsi
    sub $2, %rsi
    call rdb_nested_fib
    add %rbx, %rax
2:  pop %rsi
    pop %rbx
    ret

rdb_nested_tail:
    movq $1, (%rdi)
    jmp 3f
    ud2
3:  movq $2, 8(%rdi)
    jmp rdb_nested_callee
    ud2

rdb_nested_callee:
    movq $3, 16(%rdi)
    mov $77, %eax
    ret

rdb_nested_calls:                 # rsi times
    push %rbx
    mov %rsi, %rbx
4:  mov %rbx, %rdx
    cvtsi2sd %rbx, %xmm2
    call rdb_nested_callee
    dec %rbx
    jnz 4b
    pop %rbx
    ret

rdb_nested_vectors:
    vmovups (%rdi), %ymm0
    vaddps %ymm0, %ymm0, %ymm0
    vmovups %ymm0, 32(%rdi)
    vaddps %ymm1, %ymm9, %ymm1
    vmovups %ymm1, 64(%rdi)
    movl $0x7F80, -4(%rsp)
    ldmxcsr -4(%rsp)
    ret

rdb_nested_long_double:
    fldt (%rdi)
    fadd %st(0), %st(0)
    fld %st(0)
    fstpt 16(%rdi)
    fldcw 48(%rdi)
    ret

rdb_nested_flags:                 # stores the flags that it was called with
    pushf
    pop (%rdi)
    std
    ret

rdb_nested_segments:
    rdgsbase %rax
    mov %rax, (%rdi)
    mov $0x123000, %eax
    wrgsbase %rax
    rdfsbase %rax
    mov %rax, 8(%rdi)
    ret

rdb_nested_syscall:
    movq $5, (%rdi)
    mov $39, %eax
    syscall
    ret

rdb_nested_rdtsc:
    movq $5, (%rdi)
    rdtsc
    ret

rdb_nested_cpuid:
    push %rbx
    xor %eax, %eax
    cpuid
    mov %ebx, (%rdi)
    pop %rbx
    ret

rdb_nested_fault:                 # reads what rsi points to
    movq $5, (%rdi)
    mov (%rsi), %rax
    ret

rdb_nested_store_rsi:             # writes there
    movq $5, (%rdi)
    movq $6, (%rsi)
    ret

rdb_nested_leaves:                # as longjmp does, to a frame further out
    movq $5, (%rdi)
    add $128, %rsp
    mov $39, %eax
    syscall

rdb_nested_endless:
    incq (%rdi)
    jmp rdb_nested_endless

rdb_nested_deep:
    push %rax
    jmp rdb_nested_deep

rdb_nested_reads:                 # at 0, 16 and 40 before it writes there
    mov (%rdi), %rax
    mov %rax, 8(%rdi)
    mov 8(%rdi), %rdx
    movl $1, 20(%rdi)
    mov 16(%rdi), %rcx
    incw 40(%rdi)
    mov %rax, 40(%rdi)
    mov 40(%rdi), %rax
    ret

rdb_nested_strings:
    mov %rdi, %rdx
    lea 256(%rdi), %rsi
    mov $100, %ecx
    rep movsb
    lea 1024(%rdx), %rdi
    mov $33, %ecx
    mov $0x55, %al
    rep stosb
    ret

rdb_nested_fills:                 # rsi bytes, one at a time
    lea (%rdi,%rsi), %rdx
5:  movb $7, (%rdi)
    mov %rdi, -8(%rsp)
    inc %rdi
    cmp %rdx, %rdi
    jb 5b
    ret

rdb_nested_calls_rsi:
    push %rbp
    mov %rsp, %rbp
    push %rbx
    sub $8, %rsp
    mov %rdi, %rbx
    movq $11, (%rbx)
    call *%rsi
    mov %rax, 8(%rbx)
    movq $12, 16(%rbx)
    add $8, %rsp
    pop %rbx
    pop %rbp
    ret

rdb_nested_jumps_rsi:
    movq $11, (%rdi)
    jmp *%rsi

rdb_nested_changes_code:          # that follows, which is in the same page
    call rdb_nested_changed
    mov %rax, (%rdi)
    lea rdb_nested_changed(%rip), %rcx
    movl $9, 1(%rcx)
    call rdb_nested_changed
    mov %rax, 8(%rdi)
    ret

rdb_nested_changed:
    mov $8, %eax
    ret
rdb_nested_code_end:
)");
