// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fast path into a hook: as in fast_syscall.cc, the guest's FS base and vector registers are in place
// until the hook calls leave_fast_hook(). This file is compiled for general registers alone.
#include "rdbtool/engine/interrupt_bias.h"
#include "rdbtool/engine/translator.h"

namespace rdb::engine {

// The budget in memory stays as it is: what is counted so far is taken from where it began.
void Translator::count_to_hook(const Exit& exit) {
  int64_t budget = without_bias(state_.budget);
  executed_ += static_cast<uint64_t>(budget_set_ - budget + exit.owed);
  budget_set_ = budget - exit.owed;
  state_.registers.rip = exit.target;
}

uint64_t Translator::fast_hook_entry(void* self) {
  auto& translator = *static_cast<Translator*>(self);
  const Exit& exit = translator.cache_.exit(translator.state_.exit_number);
  translator.count_to_hook(exit);
  // The code was left and is back at an instruction whose hook was called.
  if (translator.hook_calls_.last_time == translator.executed_ &&
      translator.hook_calls_.last_pc == exit.target)
    return 0;
  const DirectHook& hook = exit.hook->direct;
  uint64_t generation = translator.cache_.generation();
  if (!hook.fast(translator.hook_context_, hook.argument, exit.target)) return 0;
  translator.hook_calls_.last_time = translator.executed_;
  translator.hook_calls_.last_pc = exit.target;
  if (!translator.in_fast_hook()) return translator.after_hook(exit, generation);
  return reinterpret_cast<uint64_t>(translator.cache_.at(exit.resume));
}

void Translator::leave_fast_hook() {
  if (!in_fast_hook()) return;
  cache_.context_switch().to_host();
  asm volatile("rdgsbase %0" : "=r"(state_.registers.gs_base));
}

} // namespace rdb::engine
