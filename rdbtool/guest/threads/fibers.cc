// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/fibers.h"

#include "rdbtool/base/error.h"

#include <sys/mman.h>
#include <utility>

// Saves what a function must preserve on the old stack and takes it from the new one. Vector and x87 state is
// the guest's and is exchanged by the machine.
extern "C" void rdb_change_stack(void** old_pointer, void* new_pointer);
extern "C" void rdb_begin_stack();
asm(R"(
    .text
    .globl rdb_change_stack
    .type rdb_change_stack, @function
rdb_change_stack:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size rdb_change_stack, .-rdb_change_stack

    .globl rdb_begin_stack
    .type rdb_begin_stack, @function
rdb_begin_stack:
    .cfi_startproc
    .cfi_undefined rip
    mov %r12, %rdi
    call *%r13
    ud2
    .cfi_endproc
    .size rdb_begin_stack, .-rdb_begin_stack
)");

namespace rdb::guest {
namespace {

constexpr size_t kStackSize = 1 << 20;
constexpr size_t kGuard = 4096;

} // namespace

Fibers::~Fibers() = default;

Fibers::Fiber::~Fiber() {
  if (stack != nullptr) munmap(stack, kStackSize);
}

void Fibers::adopt(Thread& first) {
  auto fiber = std::make_unique<Fiber>();
  fiber->owner = this;
  fiber->thread = &first;
  first_ = current_ = fiber.get();
  fibers_[&first] = std::move(fiber);
}

void Fibers::create(Thread& thread) {
  std::erase_if(forgotten_,
                [&](const auto& fiber) { return fiber.get() != current_ && fiber.get() != first_; });
  auto fiber = std::make_unique<Fiber>();
  fiber->owner = this;
  fiber->thread = &thread;
  fiber->stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (fiber->stack == MAP_FAILED) limit("no memory for the stack of another thread");
  mprotect(fiber->stack, kGuard, PROT_NONE);
  // As rdb_change_stack leaves it: r15 r14 r13 r12 rbx rbp, and where to go. The stack is aligned at the
  // call.
  auto** top = reinterpret_cast<void**>(static_cast<char*>(fiber->stack) + kStackSize) - 9;
  top[2] = reinterpret_cast<void*>(&Fibers::begin); // r13
  top[3] = fiber.get();                             // r12
  top[6] = reinterpret_cast<void*>(rdb_begin_stack);
  fiber->pointer = top;
  fibers_[&thread] = std::move(fiber);
}

void Fibers::begin(Fiber* fiber) {
  fiber->owner->body_(*fiber->thread);
}

void Fibers::change(Fiber& to) {
  if (&to == current_) return;
  Fiber* from = std::exchange(current_, &to);
  rdb_change_stack(&from->pointer, to.pointer);
}

void Fibers::switch_to(const Thread& thread) {
  change(*fibers_.at(&thread));
}

void Fibers::switch_to_first() {
  change(*first_);
}

void Fibers::forget(const Thread& thread) {
  auto node = fibers_.extract(&thread);
  if (!node.empty()) forgotten_.push_back(std::move(node.mapped()));
}

void Fibers::keep_only(const Thread& thread) {
  for (auto fiber = fibers_.begin(); fiber != fibers_.end();) {
    if (fiber->first != &thread) {
      forgotten_.push_back(std::move(fiber->second));
      fiber = fibers_.erase(fiber);
    } else {
      ++fiber;
    }
  }
}

} // namespace rdb::guest
