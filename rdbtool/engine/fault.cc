// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals that arrive while translated code runs. From the place in the cache follow the guest's pc, its
// registers and its exact count; a fault leaves through the context switch with these, anything else through
// the budget.
#include "rdbtool/engine/interrupt_bias.h"
#include "rdbtool/engine/translator.h"

#include <algorithm>
#include <ucontext.h>

namespace rdb::engine {

const MapEntry* Translator::map_entry(uint64_t host_pc) {
  Block* block = cache_.block_at(host_pc);
  if (block == nullptr) return nullptr;
  auto offset = static_cast<uint32_t>(reinterpret_cast<uint8_t*>(host_pc) - block->begin);
  auto after = std::upper_bound(block->map.begin(), block->map.end(), offset,
                                [](uint32_t o, const MapEntry& e) { return o < e.offset(); });
  return after == block->map.begin() ? nullptr : &*std::prev(after);
}

void Translator::interrupt(void* ucontext) {
  interrupted_ = true;
  state_.budget -= kInterruptBias;
  if (ucontext == nullptr) return;
  // Where translated code has the budget in a register, the change in memory is about to be overwritten.
  greg_t* gregs = static_cast<ucontext_t*>(ucontext)->uc_mcontext.gregs;
  auto pc = static_cast<uint64_t>(gregs[REG_RIP]);
  const MapEntry* entry = cache_.contains(pc) ? map_entry(pc) : nullptr;
  if (entry == nullptr) return;
  if (entry->spill() & kBudgetInRcx) gregs[REG_RCX] -= kInterruptBias;
  if (entry->spill() & kBudgetInRax) gregs[REG_RAX] -= kInterruptBias;
}

bool Translator::handle_signal(int signal, siginfo_t* info, void* ucontext) {
  auto* context = static_cast<ucontext_t*>(ucontext);
  greg_t* gregs = context->uc_mcontext.gregs;
  auto pc = static_cast<uint64_t>(gregs[REG_RIP]);
  if (!cache_.contains(pc)) return false;
  const MapEntry* found = map_entry(pc);
  if (found == nullptr) return false;
  const MapEntry& entry = *found;
  restore_spilled(entry, gregs);
  interrupted_code_.pc = entry.pc();
  interrupted_code_.owed = entry.owed();
  interrupted_code_.fault.signal = signal;
  interrupted_code_.fault.info = *info;
  interrupted_code_.fault.trap_number = static_cast<uint64_t>(gregs[REG_TRAPNO]);
  interrupted_code_.fault.error_code = static_cast<uint64_t>(gregs[REG_ERR]);
  constexpr uint64_t kFetch = 0x10;
  if (entry.spill() & kFetches) interrupted_code_.fault.error_code |= kFetch;
  // The file that the code is in has become shorter, and the block may begin before its end.
  bool unfetched = entry.spill() & kFetches && signal == SIGBUS;
  interrupted_code_.what = unfetched ? InterruptedCode::What::unfetched : InterruptedCode::What::fault;
  interrupted_code_.block = cache_.block_at(pc);
  // An instruction's own address in siginfo is the guest's, too.
  if (reinterpret_cast<uint64_t>(info->si_addr) == pc)
    interrupted_code_.fault.info.si_addr = reinterpret_cast<void*>(entry.pc());
  leave_for_fault(gregs);
  return true;
}

void Translator::restore_spilled(const MapEntry& entry, greg_t* gregs) const {
  // Order of Gpr to the order of gregs.
  static constexpr int kGreg[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  if (entry.spill() & kSpillRcx) gregs[REG_RCX] = static_cast<greg_t>(state_.spill_rcx);
  if (entry.spill() & kSpillRax) gregs[REG_RAX] = static_cast<greg_t>(state_.spill_rax);
  if (entry.spill() & kSpillScratch)
    gregs[kGreg[entry.scratch()]] = static_cast<greg_t>(state_.spill_scratch);
}

void Translator::leave_for_fault(greg_t* gregs) {
  state_.exit_number = kExitFault;
  gregs[REG_RIP] = reinterpret_cast<greg_t>(cache_.context_switch().leave);
}

} // namespace rdb::engine
