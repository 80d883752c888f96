// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events/returns.h"

#include <algorithm>

namespace rdb::debug {

void Returns::grow(Waiting& waiting) {
  constexpr size_t kFirst = 16;
  size_t room = std::max(kFirst, waiting.room * 2);
  auto calls = std::make_unique<Call[]>(room);
  std::copy_n(waiting.calls.get(), waiting.size, calls.get());
  waiting.calls = std::move(calls);
  waiting.room = room;
}

Returns::Waiting& Returns::waiting_at(replay::Replayer& replayer, uint64_t pc) {
  if (Waiting* known = by_pc_.find(pc)) return *known;
  Waiting& fresh = waiting_[pc];
  by_pc_.set(pc, &fresh);
  replayer.translator().add_hook(GuestAddr(pc), arrived_);
  replayer_ = &replayer;
  return fresh;
}

// On another stack its return address stays where it is. Where it was left, that is overwritten sooner or
// later; on the stack that every program has, nothing but calls that were left can be below.
bool Returns::was_left(replay::Replayer& replayer, const Call& older, uint64_t sp, uint64_t pc) {
  uint64_t slot = older.sp - sizeof(uint64_t), back = 0;
  guest::AddressSpace& space = replayer.space();
  if (space.read(GuestAddr(slot), &back, sizeof back) != sizeof back || back != pc) return true;
  const guest::Mapping* stack = space.find(sp - 1);
  return stack != nullptr && stack == space.find(slot) && stack->name == "[stack]";
}

void Returns::expect(replay::Replayer& replayer, uint64_t pc) {
  uint64_t sp = replayer.registers().gpr[engine::RSP];
  uint64_t back;
  if (replayer.space().read(GuestAddr(sp), &back, sizeof back) != sizeof back) return;
  replayer.space().is_plain(sp, sizeof back); // so that it is known the next time
  Waiting& waiting = waiting_at(replayer, back);
  const Call call{pc, replayer.thread(), sp + sizeof back};
  Call* calls = waiting.calls.get();
  Call* end = std::remove_if(calls, calls + waiting.size, [&](const Call& older) {
    return may_be_over(older, call) && (older.sp == call.sp || was_left(replayer, older, call.sp, back));
  });
  waiting.size = static_cast<size_t>(end - calls);
  if (waiting.size == waiting.room) grow(waiting);
  waiting.calls[waiting.size++] = call;
}

const std::vector<uint64_t>& Returns::arrive(replay::Replayer& replayer, uint64_t pc) {
  returned_.clear();
  Waiting* waiting = by_pc_.find(pc);
  if (waiting == nullptr || waiting->size == 0) return returned_;
  uint64_t sp = replayer.registers().gpr[engine::RSP];
  ThreadId thread = replayer.thread();
  Call* kept = waiting->calls.get();
  for (const Call *call = kept, *end = kept + waiting->size; call != end; ++call) {
    if (call->thread != thread || call->sp > sp)
      *kept++ = *call;
    else if (call->sp < sp && !was_left(replayer, *call, sp, pc))
      *kept++ = *call;
    else if (call->sp == sp && has_come_back(replayer, pc))
      returned_.push_back(call->function);
  }
  waiting->size = static_cast<size_t>(kept - waiting->calls.get());
  return returned_;
}

void Returns::leave(ThreadId thread, const CallsLeft& left) {
  for (auto& [address, waiting] : waiting_) {
    Call* calls = waiting.calls.get();
    Call* end = std::remove_if(calls, calls + waiting.size,
                               [&](const Call& call) { return call.thread == thread && left.has(call.sp); });
    waiting.size = static_cast<size_t>(end - calls);
  }
}

void Returns::clear(replay::Replayer& replayer) {
  for (const auto& [address, waiting] : waiting_)
    replayer.translator().remove_hook(GuestAddr(address));
  waiting_.clear();
  by_pc_.clear();
  replayer_ = nullptr;
}

} // namespace rdb::debug
