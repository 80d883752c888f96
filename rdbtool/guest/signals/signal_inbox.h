// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the kernel to the guest's threads: the signals that have been received and not delivered yet.
//
// The kernel may deliver a signal to rdb at any host instruction, but the guest may see it only between two
// of its own, and at a place that the log can name. So rdb's handler only notes the signal here, in the
// thread that it is for (Thread::received, Thread::pending), and makes the engine stop soon. The thread's
// loop (ThreadDriver) finds it pending and delivers it (LiveSignals) at the next instruction boundary.
//
// There is room for one received signal in each thread. That is enough: the handler leaves all asynchronous
// signals blocked for the OS thread, and they are opened again, with the guest's mask, after the delivery. So
// the kernel keeps the order and the queue of what comes meanwhile. Three things do not fit into this:
//
// - Signals with the number of a fault cannot be blocked. They wait in HeldSignals and are delivered first.
// - A timer whose interval is shorter than a handler takes under rdb would leave the program no time between
//   two signals. Its signal is held back for kHoldBack instructions after a handler has returned; if the
//   program makes a call before that, put_back() gives the signal to the kernel again, and let_in_again()
//   receives it when the call is over.
// - If all guest threads live in one OS thread, the kernel cannot tell them apart. What they send to each
//   other goes through Thread::sent, and what comes from outside goes to a thread that lets it in.
//
// At one place the order of delivery is: held signals by their number, then the one received, then those that
// the kernel keeps, each with a frame on top of the one before.
#pragma once

#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/signals/held_signals.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/guest/signals/signal_frame.h"
#include "rdbtool/guest/threads/thread.h"

#include <optional>

namespace rdb::guest {

class Machine;
class Scheduler;

class SignalInbox final : public SignalReceiver {
public:
  SignalInbox(Machine& machine, const Scheduler& scheduler) : machine_(machine), scheduler_(scheduler) {}

  // The guest thread that takes what comes to the calling OS thread. Null: it is on its way out.
  static void receive_for(Thread* thread);
  static const Thread* receiver();

  // Lets in what this mask of the current thread does not block. Returns at once, with nothing opened, if a
  // signal is pending: no other may take its place before it is delivered.
  void open(uint64_t mask);
  // One OS thread for all: while nobody runs, the kernel may deliver what any of the threads lets in.
  void open_for_all();
  // The thread ends. A signal that it has taken in place of the process goes back to the process.
  void close(Thread& self);
  // Whether a held signal waits that this mask does not block.
  bool has_held(uint64_t mask) const;
  // In the child of a fork: what was held was the parent's.
  static void forget_held();

  // The signal that the thread is to be given now.
  std::optional<PendingSignal> take(Thread& self);

  // For how many more instructions the pending signal does not come yet, because it is a timer's and would
  // leave the program no time; at most kHoldBack.
  static constexpr uint64_t kHoldBack = 100'000;
  uint64_t hold_back(const Thread& thread) const;
  // Likewise before a call: the kernel has the signal again until let_in_again().
  void put_back(Thread& self, const SystemCall& call);
  void let_in_again(Thread& self);

  // The result of the current thread's call that the pending signal has interrupted while it waited.
  // `restartable`: the kernel would begin it again after a handler with SA_RESTART.
  int64_t interrupted_result(bool restartable) const;

  // One OS thread for all: tkill() and tgkill(); and the first signal sent that the thread does not block
  // becomes its pending one.
  int64_t send(const SystemCall& call);
  static void take_sent(Thread& thread);

private:
  void on_fault(int signal, siginfo_t* info, void* context) override;
  void on_asynchronous(int signal, siginfo_t* info, void* context) override;
  void hold(Thread& receiver, int signal, const siginfo_t& info, void* context);
  Thread* receiver_of(int signal) const;

  Machine& machine_;
  const Scheduler& scheduler_;
  // A handler learns from these whom its signal is for, so they belong to the OS thread and not to the inbox.
  // With one OS thread for all guest threads, receiver_ is the one whose turn it is, and held_ is everyone's.
  static thread_local Thread* receiver_;
  static thread_local HeldSignals held_;
};

} // namespace rdb::guest
