// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fast path through a system call, and from one single step to the next: translated code has saved the
// general registers only, and FS is still the guest's. This file is compiled for general registers alone;
// nothing here may use what is thread-local.
#include "rdbtool/engine/interrupt_bias.h"
#include "rdbtool/engine/translator.h"

namespace rdb::engine {

uint64_t Translator::fast_entry(void* self) {
  auto& translator = *static_cast<Translator*>(self);
  const Exit& exit = translator.cache_.exit(translator.state_.exit_number);
  if (translator.interrupted_) return 0;
  return exit.block->flavour == Flavour::step ? translator.fast_step(exit)
                                              : translator.run_fast_syscall(exit);
}

void Translator::stop_after_fast_call() {
  interrupted_ = true;
}

uint64_t Translator::run_fast_syscall(const Exit& exit) {
  if (fast_.function == nullptr) return 0;
  int64_t charged = budget_set_ - without_bias(state_.budget) + exit.owed;
  Registers& regs = state_.registers;
  regs.rip = exit.target;
  note_call(regs);
  if (!fast_.function(fast_.context, regs, executed_ + static_cast<uint64_t>(charged))) return 0;
  ++statistics_.fast_syscalls;
  Block* block = cache_.find(exit.target);
  if (block == nullptr || interrupted_) {
    fast_syscall_done_ = true;
    return 0;
  }
  // One instruction: a signal handler may change the budget at any time.
  asm("subq %1, %0" : "+m"(state_.budget) : "r"(static_cast<int64_t>(exit.owed)));
  return reinterpret_cast<uint64_t>(block->begin);
}

uint64_t Translator::fast_step(const Exit& exit) {
  if (!options_.step_only || options_.log_stores || !stops_.empty() || !watches_.empty()) return 0;
  if (exit.kind != ExitKind::direct && exit.kind != ExitKind::indirect) return 0;
  uint64_t after = executed_ + static_cast<uint64_t>(exit.owed);
  if (after >= run_target_) return 0;
  Block* next = cache_.find_step(exit.kind == ExitKind::direct ? exit.target : state_.indirect_target);
  if (next == nullptr) return 0;
  executed_ = after;
  return reinterpret_cast<uint64_t>(next->begin);
}

} // namespace rdb::engine
