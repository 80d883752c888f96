// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events/returns.h"

#include <algorithm>

namespace rdb::debug {

void Returns::grow(PendingCalls& waiting) {
  constexpr size_t kFirst = 16;
  size_t room = std::max(kFirst, waiting.room * 2);
  auto calls = std::make_unique<PendingCall[]>(room);
  std::copy_n(waiting.calls.get(), waiting.size, calls.get());
  waiting.calls = std::move(calls);
  waiting.room = room;
}

Returns::PendingCalls& Returns::waiting_at(const StoppedThread& thread, uint64_t pc) {
  if (PendingCalls* known = by_pc_.find(pc)) return *known;
  PendingCalls& fresh = waiting_[pc];
  by_pc_.set(pc, &fresh);
  thread.engine.add_hook(GuestAddr(pc), arrived_);
  space_ = &thread.space;
  return fresh;
}

// A coroutine's pending call keeps its return address; an abandoned call's slot gets overwritten sooner or
// later. On the stack that every program has, nothing but abandoned calls can be below.
bool Returns::was_abandoned(const StoppedThread& thread, const PendingCall& older, uint64_t sp, uint64_t pc) {
  const uint64_t slot = older.sp - sizeof(uint64_t);
  if (thread.word_at(slot) != pc) return true;
  const guest::Mapping* stack = thread.space.find(sp - 1);
  return stack != nullptr && stack == thread.space.find(slot) && stack->name == "[stack]";
}

void Returns::expect(const StoppedThread& thread, uint64_t pc) {
  const uint64_t sp = thread.stack_pointer();
  std::optional<uint64_t> back = thread.word_at(sp);
  if (!back) return;
  thread.space.is_plain(sp, sizeof *back); // so that it is known the next time
  PendingCalls& waiting = waiting_at(thread, *back);
  const PendingCall call{pc, thread.id, sp + sizeof *back};
  PendingCall* calls = waiting.calls.get();
  PendingCall* end = std::remove_if(calls, calls + waiting.size, [&](const PendingCall& older) {
    return may_be_over(older, call) && (older.sp == call.sp || was_abandoned(thread, older, call.sp, *back));
  });
  waiting.size = static_cast<size_t>(end - calls);
  if (waiting.size == waiting.room) grow(waiting);
  waiting.calls[waiting.size++] = call;
}

const std::vector<uint64_t>& Returns::arrive(const StoppedThread& thread, uint64_t pc) {
  returned_.clear();
  PendingCalls* waiting = by_pc_.find(pc);
  if (waiting == nullptr || waiting->size == 0) return returned_;
  const uint64_t sp = thread.stack_pointer();
  PendingCall* kept = waiting->calls.get();
  for (const PendingCall *call = kept, *end = kept + waiting->size; call != end; ++call) {
    if (call->thread != thread.id || call->sp > sp)
      *kept++ = *call;
    else if (call->sp < sp && !was_abandoned(thread, *call, sp, pc))
      *kept++ = *call;
    else if (call->sp == sp && has_just_returned(thread, pc))
      returned_.push_back(call->function);
  }
  waiting->size = static_cast<size_t>(kept - waiting->calls.get());
  return returned_;
}

void Returns::abandon(ThreadId thread, const AbandonedCalls& abandoned) {
  for (auto& [address, waiting] : waiting_) {
    PendingCall* calls = waiting.calls.get();
    PendingCall* end = std::remove_if(calls, calls + waiting.size, [&](const PendingCall& call) {
      return call.thread == thread && abandoned.has(call.sp);
    });
    waiting.size = static_cast<size_t>(end - calls);
  }
}

void Returns::clear(engine::Translator& engine) {
  for (const auto& [address, waiting] : waiting_)
    engine.remove_hook(GuestAddr(address));
  waiting_.clear();
  by_pc_.clear();
  space_ = nullptr;
}

} // namespace rdb::debug
