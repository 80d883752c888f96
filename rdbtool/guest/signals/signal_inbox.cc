// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/signals/signal_inbox.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/signals/block_signals.h"
#include "rdbtool/guest/signals/call_alarm.h"
#include "rdbtool/guest/threads/scheduler.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

namespace rdb::guest {

thread_local Thread* SignalInbox::receiver_ = nullptr;
constinit thread_local HeldSignals SignalInbox::held_;

void SignalInbox::receive_for(Thread* thread) {
  receiver_ = thread;
}

const Thread* SignalInbox::receiver() {
  return receiver_;
}

bool SignalInbox::has_held(uint64_t mask) const {
  return held_.any_of(~mask);
}

void SignalInbox::forget_held() {
  held_.clear();
}

void SignalInbox::open(uint64_t mask) {
  Thread& self = machine_.current();
  if (has_held(mask)) self.pending = true;
  // While a received signal waits for its delivery, no other may take its place: neither one that came
  // before, nor one that comes just now.
  uint64_t real = mask & ~kSynchronousSignals;
  const int64_t arguments[6] = {SIG_SETMASK, reinterpret_cast<int64_t>(&real), 0, 8, 0, 0};
  interruptible_syscall(&self.pending, SYS_rt_sigprocmask, arguments);
}

void SignalInbox::open_for_all() {
  uint64_t blocked = ~0ull;
  for (const auto& [id, thread] : machine_.threads())
    blocked &= thread->pending ? ~0ull : thread->mask;
  blocked &= ~kSynchronousSignals;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&blocked), 0, 8);
}

void SignalInbox::close(Thread& self) {
  block_asynchronous();
  if (self.received.number != 0 && self.received.info.si_code != SI_TKILL)
    raw_syscall(SYS_kill, getpid(), self.received.number);
  receive_for(nullptr);
}

std::optional<PendingSignal> SignalInbox::take(Thread& self) {
  // What comes from here on sets it again.
  self.pending = false;
  std::optional<PendingSignal> result = held_.take(~self.mask);
  if (!result && self.received.number != 0) {
    result = self.received;
    self.received.number = 0;
  }
  if (self.received.number != 0 || has_held(self.mask)) self.pending = true;
  return result;
}

// A handler takes longer here than natively. Where a timer's interval is shorter than that, its next signal
// is there whenever the handler returns, and the program would get nowhere. So for a while after that it does
// not come, as if the timer had run out later; at the latest, it comes when the program's next call is over.
uint64_t SignalInbox::hold_back(const Thread& thread) const {
  const siginfo_t& info = thread.received.info;
  bool of_timer = info.si_code == SI_TIMER ||
                  (info.si_code == SI_KERNEL &&
                   (info.si_signo == SIGALRM || info.si_signo == SIGVTALRM || info.si_signo == SIGPROF));
  if (thread.received.number == 0 || !of_timer || !thread.sent.empty() || has_held(thread.mask)) return 0;
  uint64_t since = machine_.now() - thread.returned_at;
  return since < kHoldBack ? kHoldBack - since : 0;
}

void SignalInbox::put_back(Thread& self, const SystemCall& call) {
  if (call.number == SYS_exit || hold_back(self) == 0) return; // a thread that ends passes it on
  siginfo_t& info = self.received.info;
  // A timer that is deleted has no signals any more.
  bool dropped = call.number == SYS_timer_delete && info.si_code == SI_TIMER &&
                 info.si_timerid == static_cast<int>(call.arguments[0]);
  if (!dropped && raw_syscall(SYS_rt_tgsigqueueinfo, getpid(), raw_syscall(SYS_gettid), self.received.number,
                              reinterpret_cast<int64_t>(&info)) != 0)
    return;
  self.put_back = std::exchange(self.received.number, 0);
  self.pending = false;
  if (has_held(self.mask)) self.pending = true;
}

void SignalInbox::let_in_again(Thread& self) {
  if (std::exchange(self.put_back, 0) != 0) open(self.mask);
}

int64_t SignalInbox::interrupted_result(bool restartable) const {
  const SignalAction& action = machine_.action(machine_.current().received.number);
  bool handled = action.handler != reinterpret_cast<uint64_t>(SIG_DFL) &&
                 action.handler != reinterpret_cast<uint64_t>(SIG_IGN);
  return handled && (!restartable || !(action.flags & SA_RESTART)) ? -EINTR : kNotStarted;
}

int64_t SignalInbox::send(const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  bool with_group = call.number == SYS_tgkill;
  auto number = static_cast<int>(a[with_group ? 2 : 1]);
  Thread* target = machine_.find_thread(ThreadId(static_cast<int32_t>(a[with_group ? 1 : 0])));
  if (target == nullptr || (with_group && static_cast<int>(a[0]) != machine_.identity().pid)) return -ESRCH;
  if (number < 0 || number > 64) return -EINVAL;
  if (number == 0) return 0;
  PendingSignal signal;
  signal.number = number;
  signal.info.si_signo = number;
  signal.info.si_code = SI_TKILL;
  signal.info.si_pid = machine_.identity().pid;
  signal.info.si_uid = getuid();
  target->sent.push_back(signal);
  take_sent(*target);
  return 0;
}

void SignalInbox::take_sent(Thread& thread) {
  if (thread.pending) return;
  for (auto signal = thread.sent.begin(); signal != thread.sent.end(); ++signal) {
    if (thread.mask >> (signal->number - 1) & 1) continue;
    thread.received = *signal;
    thread.sent.erase(signal);
    thread.pending = true;
    return;
  }
}

// A signal from outside goes to the thread that runs, or else to one that lets it in.
Thread* SignalInbox::receiver_of(int signal) const {
  if (!machine_.in_one_thread()) return receiver_;
  auto lets_in = [&](const Thread& t) { return !(t.mask >> (signal - 1) & 1) && !t.pending; };
  if (receiver_ != nullptr && lets_in(*receiver_)) return receiver_;
  for (const auto& [id, thread] : machine_.threads())
    if (lets_in(*thread)) return thread.get();
  return receiver_;
}

void SignalInbox::on_fault(int signal, siginfo_t* info, void* context) {
  if (info->si_code <= 0) {
    // Not raised by an instruction, but sent by someone (kill, tgkill, sigqueue).
    on_asynchronous(signal, info, context);
    return;
  }
  if (machine_.engine().handle_signal(signal, info, context)) return;
  report_host_fault(signal, info, context, machine_.registers().rip, machine_.engine().executed());
}

void SignalInbox::on_asynchronous(int signal, siginfo_t* info, void* context) {
  Thread* receiver = receiver_of(signal);
  if (receiver == nullptr) return;            // the thread is on its way out
  if (CallAlarm::is_source_of(*info)) return; // the call has been ended, and that was all
  if (kSynchronousSignals >> (signal - 1) & 1) {
    hold(*receiver, signal, *info, context);
    return;
  }
  Thread& thread = *receiver;
  thread.received = {};
  thread.received.number = signal;
  thread.received.info = *info;
  thread.pending = true;
  // No other one until this is delivered.
  uint64_t blocked = ~kSynchronousSignals;
  std::memcpy(&static_cast<ucontext_t*>(context)->uc_sigmask, &blocked, 8);
  if (scheduler_.is_running(thread)) machine_.engine().interrupt(context);
}

void SignalInbox::hold(Thread& receiver, int signal, const siginfo_t& info, void* context) {
  bool standard = machine_.action(signal).handler == reinterpret_cast<uint64_t>(SIG_DFL);
  if (standard && machine_.identity().is_init() && !scheduler_.is_over()) return; // it does not end this one
  held_.add(signal, info);
  uint64_t mask = receiver.mask_of_call.value_or(receiver.mask);
  bool blocked = mask >> (signal - 1) & 1 && !scheduler_.is_over();
  if (blocked) return;
  receiver.pending = true;
  if (scheduler_.is_running(receiver)) machine_.engine().interrupt(context);
}

} // namespace rdb::guest
