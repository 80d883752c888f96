// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/turns.h"

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_listener.h"
#include "rdbtool/guest/signals/block_signals.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/affinity.h"
#include "rdbtool/guest/threads/shared_access.h"

namespace rdb::guest {

void Turns::take_back(Thread& self) {
  scheduler_.acquire(self);
  begin(self);
}

void Turns::begin(Thread& self) {
  if (&self != machine_.loaded()) machine_.load(self);
  if (machine_.threads().size() == 1) affinity_.unpin(self.id);
  engine::Translator& translator = machine_.translator();
  translator.adopt_host_thread();
  // A signal may arrive before the engine stores it. Until then, host_fs would be the previous thread's.
  asm volatile("rdfsbase %0" : "=r"(translator.state().host_fs));
  if (machine_.in_one_thread() && machine_.threads().size() > 1) {
    SignalInbox::receive_for(&self);
    if (self.pending)
      block_asynchronous();
    else
      inbox_.open(self.mask);
  }
  redraw();
}

void Turns::pass() {
  Thread& self = machine_.current();
  listener_.on_turn_end(machine_);
  machine_.save_current();
  scheduler_.pass(self);
  begin(self);
}

void Turns::try_later() {
  Thread& self = machine_.current();
  listener_.on_turn_end(machine_);
  machine_.save_current();
  scheduler_.try_later(self);
  begin(self);
}

void Turns::give_away() {
  machine_.save_current();
  scheduler_.release();
}

Woken Turns::sleep(clockid_t clock, const std::optional<timespec>& deadline) {
  listener_.on_turn_end(machine_);
  return rest(clock, deadline);
}

Woken Turns::rest(clockid_t clock, const std::optional<timespec>& deadline) {
  Thread& self = machine_.current();
  self.woken = false;
  inbox_.let_in_again(self);
  give_away();
  Woken how = scheduler_.wait(self, clock, deadline);
  if (how != Woken::granted) scheduler_.acquire(self);
  begin(self);
  return how;
}

void Turns::wake(Thread& thread, int64_t result) {
  thread.woken = true;
  thread.wake_result = result;
  scheduler_.make_ready(thread);
}

Turns::State Turns::state() {
  uint64_t executed = machine_.engine().executed();
  if (executed < end_ && !scheduler_.cut_short()) return State::lasts;
  if (machine_.in_one_thread()) scheduler_.stir_waiters();
  if (!scheduler_.others_ready()) {
    end_ = executed + scheduler_.turn_length();
    return State::lasts;
  }
  return searches_on() ? State::searching : State::over;
}

uint64_t Turns::left() const {
  return end_ - machine_.engine().executed();
}

void Turns::redraw() {
  end_ = machine_.engine().executed() + scheduler_.turn_length();
  search_left_ = scheduler_.search_length();
}

void Turns::cut() {
  end_ = machine_.engine().executed();
}

void Turns::end_search() {
  if (machine_.engine().executed() >= end_) search_left_ = 0;
}

bool Turns::searches_on() {
  if (search_left_ == 0) return false;
  --search_left_;
  if (!touches_shared_memory(machine_.registers(), machine_.space())) return true;
  if (!scheduler_.ends_turn_at(machine_.registers().rip)) return true;
  // Before the access, or after.
  search_left_ = 0;
  return scheduler_.choose(2) == 1;
}

} // namespace rdb::guest
