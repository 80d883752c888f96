// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/call_frame.h"

#include "rdbtool/debug/isolation/nested_call.h"

#include <cstddef>

extern "C" {
void rdb_nested_stub();
void rdb_always_watched_stub();
void rdb_nested_call(rdb::debug::CallFrame* frame, uint64_t target);
void rdb_call_host(rdb::debug::CallFrame* frame, uint64_t function);
// A global, since assembly code below reads it. It is a fact about the CPU, the same for all sessions.
__attribute__((visibility("hidden"))) bool rdb_has_avx = false;
}

asm(R"(
    .text
    .globl rdb_always_watched_stub
    .type rdb_always_watched_stub, @function
rdb_always_watched_stub:
    mov $1, %r10d
    jmp .Lnested_stub_of_kind
    .size rdb_always_watched_stub, .-rdb_always_watched_stub
    .globl rdb_nested_stub
    .type rdb_nested_stub, @function
rdb_nested_stub:
    .cfi_startproc
    xor %r10d, %r10d
.Lnested_stub_of_kind:
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    sub $384, %rsp
    and $-32, %rsp
    mov %rdi, 0(%rsp)
    mov %rsi, 8(%rsp)
    mov %rdx, 16(%rsp)
    mov %rcx, 24(%rsp)
    mov %r8, 32(%rsp)
    mov %r9, 40(%rsp)
    movzbl %al, %eax
    mov %rax, 48(%rsp)
    mov %r10b, 73(%rsp)
    cmpb $0, rdb_has_avx(%rip)
    je 1f
    vmovups %ymm0, 96(%rsp)
    vmovups %ymm1, 128(%rsp)
    vmovups %ymm2, 160(%rsp)
    vmovups %ymm3, 192(%rsp)
    vmovups %ymm4, 224(%rsp)
    vmovups %ymm5, 256(%rsp)
    vmovups %ymm6, 288(%rsp)
    vmovups %ymm7, 320(%rsp)
    jmp 2f
1:
    movups %xmm0, 96(%rsp)
    movups %xmm1, 128(%rsp)
    movups %xmm2, 160(%rsp)
    movups %xmm3, 192(%rsp)
    movups %xmm4, 224(%rsp)
    movups %xmm5, 256(%rsp)
    movups %xmm6, 288(%rsp)
    movups %xmm7, 320(%rsp)
2:  lea 16(%rbp), %rax
    mov %rax, 352(%rsp)
    mov %rsp, %rdi
    mov %r11, %rsi
    call rdb_nested_call
    mov 56(%rsp), %rax
    mov 64(%rsp), %rdx
    cmpb $0, 72(%rsp)
    je 3f
    vmovups 96(%rsp), %ymm0
    vmovups 128(%rsp), %ymm1
    jmp 4f
3:  movups 96(%rsp), %xmm0
    movups 128(%rsp), %xmm1
4:  mov %rbp, %rsp
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size rdb_nested_stub, .-rdb_nested_stub
)");

// The frame is made so that exceptions find their way: libraries throw some.
asm(R"(
    .text
    .globl rdb_call_host
    .type rdb_call_host, @function
rdb_call_host:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    push %rbx
    .cfi_offset %rbx, -24
    sub $8, %rsp
    mov %rdi, %rbx
    mov %rsi, %r11
    mov 360(%rbx), %rcx
    sub %rcx, %rsp
    mov 352(%rbx), %rsi
    mov %rsp, %rdi
    rep movsb
    mov 8(%rbx), %rsi
    mov 16(%rbx), %rdx
    mov 24(%rbx), %rcx
    mov 32(%rbx), %r8
    mov 40(%rbx), %r9
    mov 48(%rbx), %rax
    cmpb $0, 72(%rbx)
    je 1f
    vmovups 96(%rbx), %ymm0
    vmovups 128(%rbx), %ymm1
    vmovups 160(%rbx), %ymm2
    vmovups 192(%rbx), %ymm3
    vmovups 224(%rbx), %ymm4
    vmovups 256(%rbx), %ymm5
    vmovups 288(%rbx), %ymm6
    vmovups 320(%rbx), %ymm7
    jmp 2f
1:
    movups 96(%rbx), %xmm0
    movups 128(%rbx), %xmm1
    movups 160(%rbx), %xmm2
    movups 192(%rbx), %xmm3
    movups 224(%rbx), %xmm4
    movups 256(%rbx), %xmm5
    movups 288(%rbx), %xmm6
    movups 320(%rbx), %xmm7
2:  mov 0(%rbx), %rdi
    call *%r11
    mov %rax, 56(%rbx)
    mov %rdx, 64(%rbx)
    cmpb $0, rdb_has_avx(%rip)
    je 3f
    vmovups %ymm0, 96(%rbx)
    vmovups %ymm1, 128(%rbx)
    jmp 4f
3:  movups %xmm0, 96(%rbx)
    movups %xmm1, 128(%rbx)
4:  mov -8(%rbp), %rbx
    mov %rbp, %rsp
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size rdb_call_host, .-rdb_call_host
)");

namespace rdb::debug {

static_assert(offsetof(CallFrame, result) == 56 && offsetof(CallFrame, is_wide) == 72 &&
              offsetof(CallFrame, is_always_watched) == 73 && offsetof(CallFrame, vector) == 96 &&
              offsetof(CallFrame, stack_arguments) == 352 && offsetof(CallFrame, stack_size) == 360);

void* nested_call_stub() {
  return reinterpret_cast<void*>(rdb_nested_stub);
}

void* always_watched_stub() {
  return reinterpret_cast<void*>(rdb_always_watched_stub);
}

void call_host(CallFrame& frame, uint64_t function) {
  rdb_call_host(&frame, function);
}

void set_wide_vectors(bool has_them) {
  rdb_has_avx = has_them;
}

} // namespace rdb::debug

void rdb_nested_call(rdb::debug::CallFrame* frame, uint64_t target) {
  rdb::debug::run_nested_call(frame, target);
}
