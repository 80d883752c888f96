// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs with the guest's FS base and vector registers: compiled for general registers only, without stack
// protector, and calling nothing that is not (see CMakeLists.txt).
#include "rdbtool/debug/events/events.h"

namespace rdb::debug {
// At the beginning of a function. True if the call could be noted.
bool Returns::expect_fast(ThreadId thread, const engine::Registers& registers, uint64_t pc) {
  uint64_t sp = registers.gpr[engine::RSP];
  if (space_ == nullptr || !space_->is_known_plain(sp, sizeof(uint64_t))) return false;
  PendingCalls* waiting = by_pc_.find(*GuestAddr(sp).ptr<uint64_t>());
  if (waiting == nullptr || waiting->size == waiting->room) return false;
  const PendingCall call{pc, thread, sp + sizeof(uint64_t)};
  PendingCall* calls = waiting->calls.get();
  for (size_t i = waiting->size; i-- > 0;) {
    if (may_be_over(calls[i], call)) return false;
    if (calls[i].thread == call.thread) break; // those before it are further out
  }
  calls[waiting->size++] = call;
  return true;
}

// The function that was called last from in front of `pc`; 0 if there is none.
uint64_t Returns::last(uint64_t pc) const {
  const PendingCalls* waiting = by_pc_.find(pc);
  return waiting == nullptr || waiting->size == 0 ? 0 : waiting->calls.get()[waiting->size - 1].function;
}

// Where calls return to: forgets the last one if that has returned, and it alone.
bool Returns::arrive_fast(ThreadId thread, const engine::Registers& registers, uint64_t pc) {
  PendingCalls* waiting = by_pc_.find(pc);
  if (waiting == nullptr || waiting->size == 0) return false;
  uint64_t sp = registers.gpr[engine::RSP];
  const PendingCall* last = waiting->calls.get() + waiting->size - 1;
  if (last->thread != thread || last->sp != sp) return false;
  uint64_t slot = sp - sizeof(uint64_t); // see has_just_returned()
  if (!space_->is_known_plain(slot, sizeof slot) || *GuestAddr(slot).ptr<uint64_t>() != pc) return false;
  // Another that ended in a jump, or was abandoned.
  if (waiting->size > 1 && (last[-1].thread != thread || last[-1].sp <= sp)) return false;
  --waiting->size;
  return true;
}

// If there is one callback, and it can be run now.
const FastCallback* Events::fast_of(const Audience& audience) {
  if (audience.size() != 1 || audience.front()->removed) return nullptr;
  const FastCallback& fast = audience.front()->fast;
  return fast.is_ready != nullptr && fast.is_ready(fast.teller) ? &fast : nullptr;
}

bool Events::enter_fast(void* context, void* argument, uint64_t pc) {
  Function& function = *static_cast<Function*>(argument);
  Events& events = *function.events;
  auto& replayer = *static_cast<replay::Replayer*>(context);
  const engine::Registers& registers = replayer.translator().registers();
  const FastCallback* fast = nullptr;
  if (!function.entered.empty() && (fast = fast_of(function.entered)) == nullptr) return false;
  if (!function.returned.empty() && !events.returns_.expect_fast(replayer.thread(), registers, pc))
    return false;
  if (fast == nullptr) return true;
  events.note_arguments(registers, pc, function);
  fast->tell(fast->teller, events.call_event_);
  return true;
}

bool Events::leave_fast(void* context, void* argument, uint64_t pc) {
  auto& events = *static_cast<Events*>(argument);
  auto& replayer = *static_cast<replay::Replayer*>(context);
  const engine::Registers& registers = replayer.translator().registers();
  uint64_t address = events.returns_.last(pc);
  Function* function = address == 0 ? nullptr : events.functions_by_pc_.find(address);
  if (function == nullptr) return false;
  const FastCallback* fast = fast_of(function->returned);
  if (fast == nullptr || !events.returns_.arrive_fast(replayer.thread(), registers, pc)) return false;
  events.note_result(registers, pc, address, *function);
  fast->tell(fast->teller, events.return_event_);
  return true;
}

} // namespace rdb::debug
