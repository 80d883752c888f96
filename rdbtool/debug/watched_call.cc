// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/watched_call.h"

#include "rdbtool/debug/refusal.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>

extern "C" {
// Calls a host function with the frame's argument registers; the results go back into it.
void rdb_call_host(rdb::debug::CallFrame* frame, uint64_t function);
}

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
namespace {

// Functions of the libraries, whichever of them are there.
template <size_t count>
std::array<void*, count> find_all(const std::array<const char*, count>& names) {
  std::array<void*, count> found = {};
  std::ranges::transform(names, found.begin(), [](const char* name) { return dlsym(RTLD_DEFAULT, name); });
  return found;
}

bool is_one_of(const auto& functions, uint64_t function) {
  return std::ranges::find(functions, reinterpret_cast<void*>(function)) != functions.end();
}

// A stream that was given such a buffer would write to it later, in calls that nobody watches.
bool keeps_buffer(uint64_t function) {
  static const auto functions =
      find_all(std::array{"_ZNSt13basic_filebufIcSt11char_traitsIcEE6setbufEPcl",
                          "_ZNSt13basic_filebufIwSt11char_traitsIwEE6setbufEPwl",
                          "_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE6setbufEPcl",
                          "_ZNSt7__cxx1115basic_stringbufIwSt11char_traitsIwESaIwEE6setbufEPwl"});
  return is_one_of(functions, function);
}

// Who calls through a pointer does not know what. These are what std::stoi() and its kin call so.
bool writes_where_told(uint64_t function) {
  static const auto functions = find_all(std::array{"strtol", "strtoll", "strtoul", "strtoull", "strtof",
                                                    "strtod", "strtold", "wcstol", "wcstoul"});
  return is_one_of(functions, function);
}

} // namespace

void call_watched(CallFrame& frame, uint64_t function) {
  NestedCalls* calls = NestedCalls::current();
  if (frame.is_always_watched && writes_where_told(function)) frame.is_always_watched = false;
  // The module's own code keeps what it writes.
  if (calls == nullptr || !can_escape() || in_module(function) || !calls->begin_watch(frame)) {
    rdb_call_host(&frame, function);
    return;
  }
  const uint64_t buffer = frame.integer[1];
  if (keeps_buffer(function) && buffer != 0 && buffer < guest::kHighEnd)
    give_up("debug code must not call setbuf of a stream with memory of the program");
  try {
    rdb_call_host(&frame, function);
  } catch (...) {
    calls->end_watch();
    throw;
  }
  calls->end_watch();
}

void run_watched_call(CallFrame& frame, uint64_t function) {
  // Outside of regions, in a constructor of the module, little is known of the stack.
  constexpr uint64_t kUsual = 96;
  auto arguments = reinterpret_cast<uint64_t>(frame.stack_arguments);
  frame.stack_size = kUsual;
  if (can_escape())
    frame.stack_size =
        std::min<uint64_t>((reinterpret_cast<uint64_t>(running.escape) - arguments) & ~15ull, kMostArguments);
  frame.is_wide = false;
  call_watched(frame, function);
}

} // namespace rdb::debug
