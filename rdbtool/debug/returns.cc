// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/returns.h"

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
  if (replayer_ == nullptr) {
    replayer_ = &replayer;
    replayer.translator().set_quick_hook({&note, this});
  }
  return fresh;
}

void Returns::expect(replay::Replayer& replayer, uint64_t pc) {
  uint64_t sp = replayer.registers().gpr[engine::RSP];
  uint64_t back;
  if (replayer.space().read(GuestAddr(sp), &back, sizeof back) != sizeof back) return;
  replayer.space().is_plain(sp, sizeof back); // so that it is known the next time
  Waiting& waiting = waiting_at(replayer, back);
  if (waiting.size == waiting.room) grow(waiting);
  waiting.calls[waiting.size++] = {pc, replayer.thread(), sp + sizeof back};
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
    else if (call->sp == sp)
      returned_.push_back(call->function);
    // Those below were left in other ways.
  }
  waiting->size = static_cast<size_t>(kept - waiting->calls.get());
  return returned_;
}

void Returns::clear(replay::Replayer& replayer) {
  for (const auto& [address, waiting] : waiting_)
    replayer.translator().remove_hook(GuestAddr(address));
  waiting_.clear();
  by_pc_.clear();
  if (replayer_ != nullptr) replayer.translator().set_quick_hook({});
  replayer_ = nullptr;
}

} // namespace rdb::debug
