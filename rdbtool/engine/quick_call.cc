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

uint64_t Translator::quick_hook_entry(void* self) {
  auto& translator = *static_cast<Translator*>(self);
  State& state = translator.state_;
  const Exit& exit = translator.cache_.exit(state.exit_number);
  int64_t charged = translator.budget_set_ - without_bias(state.budget) + exit.owed;
  uint64_t now = translator.executed_ + static_cast<uint64_t>(charged);
  // The code was left and is back at an instruction whose hook was called.
  if (translator.hooked_at_ == now && translator.hooked_pc_ == exit.target) return 0;
  if (translator.quick_hook_.function == nullptr) return 0;
  if (!translator.quick_hook_.function(translator.quick_hook_.context, exit.target, state.registers))
    return 0;
  translator.hooked_at_ = now;
  translator.hooked_pc_ = exit.target;
  return reinterpret_cast<uint64_t>(translator.cache_.at(exit.resume));
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
