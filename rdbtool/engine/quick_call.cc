// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The short way through a system call: translated code has saved the general registers only, and FS is still
// the guest's. Compiled for general registers alone; nothing here may use what is thread-local.
#include "rdbtool/engine/interrupt_bias.h"
#include "rdbtool/engine/translator.h"

namespace rdb::engine {

uint64_t Translator::quick_entry(void* translator) {
  return static_cast<Translator*>(translator)->quick_call();
}

uint64_t Translator::quick_call() {
  if (quick_.function == nullptr || interrupted_) return 0;
  const Exit& exit = cache_.exit(state_.exit_number);
  int64_t charged = budget_set_ - without_bias(state_.budget) + exit.owed;
  Registers& regs = state_.registers;
  regs.rip = exit.target;
  regs.gpr[RCX] = regs.rip;
  regs.gpr[R11] = regs.rflags;
  state_.in_quick_call = 1;
  bool done = quick_.function(quick_.context, regs, executed_ + static_cast<uint64_t>(charged));
  state_.in_quick_call = 0;
  if (!done) return 0;
  ++statistics_.quick_calls;
  Block* block = cache_.find(exit.target);
  if (block == nullptr) {
    quick_done_ = true;
    return 0;
  }
  // One instruction: a signal handler may change the budget at any time.
  asm("subq %1, %0" : "+m"(state_.budget) : "r"(static_cast<int64_t>(exit.owed)));
  return reinterpret_cast<uint64_t>(block->entry);
}

} // namespace rdb::engine
