// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The short way through a system call, past a hook, and from one single step to the next: translated code has
// saved the general registers only, and FS is still the guest's. Compiled for general registers alone;
// nothing here may use what is thread-local.
#include "rdbtool/engine/interrupt_bias.h"
#include "rdbtool/engine/translator.h"

namespace rdb::engine {

uint64_t Translator::quick_entry(void* self) {
  auto& translator = *static_cast<Translator*>(self);
  const Exit& exit = translator.cache_.exit(translator.state_.exit_number);
  if (translator.interrupted_) return 0;
  return exit.block->flavour == Flavour::step ? translator.quick_step(exit) : translator.quick_call(exit);
}

uint64_t Translator::quick_call(const Exit& exit) {
  if (quick_.function == nullptr) return 0;
  int64_t charged = budget_set_ - without_bias(state_.budget) + exit.owed;
  Registers& regs = state_.registers;
  regs.rip = exit.target;
  regs.gpr[RCX] = regs.rip;
  regs.gpr[R11] = regs.flags();
  if (!quick_.function(quick_.context, regs, executed_ + static_cast<uint64_t>(charged))) return 0;
  ++statistics_.quick_calls;
  Block* block = cache_.find(exit.target);
  if (block == nullptr) {
    quick_done_ = true;
    return 0;
  }
  // One instruction: a signal handler may change the budget at any time.
  asm("subq %1, %0" : "+m"(state_.budget) : "r"(static_cast<int64_t>(exit.owed)));
  return reinterpret_cast<uint64_t>(block->begin);
}

// The budget in memory stays as it is: what is counted so far is taken from where it began.
void Translator::count_to_hook(const Exit& exit) {
  int64_t budget = without_bias(state_.budget);
  executed_ += static_cast<uint64_t>(budget_set_ - budget + exit.owed);
  budget_set_ = budget - exit.owed;
  state_.registers.rip = exit.target;
}

uint64_t Translator::quick_hook_entry(void* self) {
  auto& translator = *static_cast<Translator*>(self);
  const Exit& exit = translator.cache_.exit(translator.state_.exit_number);
  translator.count_to_hook(exit);
  // The code was left and is back at an instruction whose hook was called.
  if (translator.hooked_at_ == translator.executed_ && translator.hooked_pc_ == exit.target) return 0;
  const DirectHook& hook = exit.hook->direct;
  uint64_t generation = translator.cache_.generation();
  if (!hook.quick(translator.hook_context_, hook.argument, exit.target)) return 0;
  translator.hooked_at_ = translator.executed_;
  translator.hooked_pc_ = exit.target;
  if (!translator.in_quick_hook()) return translator.after_hook(exit, generation);
  return reinterpret_cast<uint64_t>(translator.cache_.at(exit.resume));
}

void Translator::leave_quick_hook() {
  if (!in_quick_hook()) return;
  cache_.glue().to_host();
  asm volatile("rdgsbase %0" : "=r"(state_.registers.gs_base));
}

uint64_t Translator::quick_step(const Exit& exit) {
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
