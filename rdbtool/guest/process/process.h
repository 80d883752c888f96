// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One live guest process: the machine, run against the real kernel. A recorder may look on: it performs the
// calls that have results from outside, and is told of everything that a replay will need.
#pragma once

#include "rdbtool/guest/calls/answer.h"
#include "rdbtool/guest/calls/refused_calls.h"
#include "rdbtool/guest/calls/seccomp_filter.h"
#include "rdbtool/guest/host/guest_limits.h"
#include "rdbtool/guest/host/hidden_host.h"
#include "rdbtool/guest/process/elf_image.h"
#include "rdbtool/guest/process/initial_stack.h"
#include "rdbtool/guest/process/lockstep.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/guest/threads/affinity.h"
#include "rdbtool/guest/threads/fork_check.h"
#include "rdbtool/guest/threads/futex.h"
#include "rdbtool/guest/threads/os_threads.h"
#include "rdbtool/guest/threads/scheduler.h"

#include <array>
#include <atomic>
#include <csignal>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdb::guest {

// What a program keeps across execve and rdb holds in place of the kernel.
struct Inherited {
  bool known = false;
  uint64_t mask = 0; // blocked signals
  std::array<rlimit, std::size(GuestLimits::kKept)> limits = {};
  uint64_t deny_write_execute = 0;
  bool death_signal_is_guests = false;
  std::vector<std::vector<sock_filter>> filters;
};

struct ProcessOptions {
  std::string path; // the program's file
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  MachineOptions machine;
  Inherited inherited;
  std::optional<sigset_t> blocked; // signals, when it begins; without it those of this process
  uint64_t max_instructions = UINT64_MAX;
};

// Signals that someone has sent and that have a fault's number. The kernel must never block these, so they
// wait here until the guest lets them in: one of each number at most, as in the kernel.
class HeldSignals {
public:
  // In a signal handler.
  void add(int signal, const siginfo_t& info);
  bool any_of(uint64_t open) const { return (held_ & open) != 0; }
  std::optional<PendingSignal> take(uint64_t open);
  void clear() { held_ = 0; }

private:
  std::atomic<uint64_t> held_ = 0; // like a mask
  std::array<PendingSignal, 6> signals_;
};

class Process;
class VforkMemory;
struct Handover;

// Where the outside is seen. The default does every call for real and remembers nothing.
class Outside {
public:
  virtual ~Outside() = default;
  // The program is loaded, nothing is executed yet.
  virtual void started(Process&) {}
  // The guest has made a call; nothing of it is done yet.
  virtual void reached_call(Process&) {}
  // A call of class Emulated (or Refused): performs it, puts its outputs into guest memory, the result.
  // kNotStarted if a signal must be delivered first.
  virtual int64_t call(Process& process, const SystemCall& call, const CallShape& shape);
  // A call that rdb itself has carried out.
  virtual void called(Process&, const SystemCall&, int64_t /*result*/) {}
  // Likewise, with what it puts into guest memory. The result: -EFAULT where that cannot be written.
  virtual int64_t answered(Process& process, const SystemCall& call, const Answer& answer);
  // A file was mapped (fd as the guest gave it); comes before called().
  virtual void mapped(Process&, const Mapping&, int /*fd*/) {}
  // rdb has changed mappings in the way of this call, which the guest has not made here.
  virtual void remapped(Process&, const SystemCall&, int64_t /*result*/) {}
  virtual engine::Engine::InputResult instruction(Process& process, engine::InputInstruction kind);
  // A signal is about to be delivered.
  virtual void signalled(Process&, const PendingSignal&) {}
  // An instruction could not reach memory that the guest has: true if it can now.
  virtual bool reach(Process&, const engine::Fault&) { return false; }
  // How many instructions may be executed before this is asked again.
  virtual uint64_t stretch(Process&) { return UINT64_MAX; }
  // The current thread has made another one; comes before called().
  virtual void thread_started(Process&, const Thread& /*created*/, uint64_t /*clone_flags*/) {}
  virtual void thread_ended(Process&, int /*status*/) {}
  // rdb has written to guest memory as the kernel would (a lock that changes hands, a thread's number).
  virtual void wrote(Process&, GuestAddr, const void* /*bytes*/, size_t /*size*/) {}
  // The current thread's turn is over.
  virtual void turn_ended(Process&) {}
  virtual void ended(Process&, const Ending&) {}
  // It cannot go on; `why` is what the user reads.
  virtual void failed(Process&, const std::string& /*why*/) {}
  // Calls that can be done without leaving guest code, unseen by call().
  virtual engine::FastSyscall make_fast_syscall(Process& process);
  // Around a fork, the latter in both processes; the call's result is told by answered().
  virtual void before_fork(Process&) {}
  virtual void after_fork(Process&, int64_t /*result*/) {}
  // The process is about to become another program, which `handover` describes; and if it could not, after
  // all.
  virtual void before_exec(Process&, const SystemCall&, Handover& /*handover*/) {}
  virtual void exec_failed(Process&, int64_t /*result*/) {}
};

class Process final : public Machine, private SignalReceiver, private FutexHost {
public:
  Process(const ProcessOptions& options, Outside& outside);
  ~Process() override;

  Ending run();

  const std::string& program() const { return program_.path; }
  uint64_t initial_brk() const { return initial_brk_; }
  // Asks the kernel, for the current thread. kNotStarted if a signal must be delivered first.
  enum class Baton : uint8_t { as_needed, kept, given };
  int64_t kernel_call(const CallShape& shape, const SyscallArgs& arguments, Baton baton = Baton::as_needed);
  // Whether the baton stays here during the call.
  bool keeps_baton(const CallShape& shape, const SyscallArgs& arguments) const;
  // Gives the baton away until another thread calls resume() for this one: 0. If a signal comes first, the
  // result of the call that it interrupts.
  int64_t rest();
  void resume(Thread& thread) { wake(thread, 0); }
  // The process is ending around its threads.
  bool is_over() const { return scheduler_.is_over(); }
  const StackImage& initial_stack() const { return stack_; }
  const Image& image() const { return image_; }
  GuestLimits& limits() { return limits_; }
  const GuestLimits& limits() const { return limits_; }
  HiddenHost& hidden_host() { return hidden_host_; }
  SeccompFilters& seccomp() { return seccomp_; }
  // For the next program of this process.
  Inherited inheritance() const;
  // Tells the outside of a memory call that rdb has made, with success.
  void tell_remapped(const SystemCall& call, int64_t result) { outside_.remapped(*this, call, result); }
  // Likewise, of one that a parent by vfork has to make, too.
  void tell_grown(const SystemCall& call, int64_t result);
  Refusals& refusals() { return refusals_; }

private:
  // `thread_over`: the thread is gone. `ended`: the whole process is.
  enum class Next : uint8_t { go_on, thread_over, ended };

  void load_program();
  Next system_call();
  int64_t dispatch(SystemCall call, Next& next);
  int64_t wait_with_mask(const SystemCall& call, Next& next);
  std::optional<uint64_t> mask_of(const SystemCall& call);
  Next handle(const engine::Stop& stop);
  Next give(const PendingSignal& signal);
  // What the guest's own filter says; nothing: the call is allowed.
  std::optional<Next> filter_call(const SystemCall& call);
  int64_t memory_call(const SystemCall& call);

  // Threads and their turns: thread_turns.cc.
  void run_thread(Thread& self);
  Next run_turns(Thread& self);
  void body_of_os_thread(Thread& self);
  void begin_turn(Thread& self);
  void draw_turn();
  void leave_turn();
  void yield();
  bool searches_on();
  void end_process(const Ending& ending);
  [[noreturn]] void end_orphan();
  void fail();
  Next end_thread(const SystemCall& call);
  int64_t start_thread(const SystemCall& call);
  int64_t futex_call(const SystemCall& call, const CallShape& shape);
  int64_t wait_for(const FutexOutcome& outcome, bool always_restarts);
  Scheduler::Woken sleep_until(clockid_t clock, const std::optional<timespec>& deadline);
  void after_fork_in_child();
  // All threads in one OS thread: one_thread_calls.cc.
  bool in_one_thread() const { return options().turns.one_thread; }
  [[noreturn]] void body_of_fiber(Thread& self);
  int64_t call_in_one_thread(const CallShape& shape, const SyscallArgs& arguments);
  int64_t sleep_call(int64_t number, const SyscallArgs& arguments);
  int64_t timed_call(int64_t number, const SyscallArgs& arguments);
  int64_t wait_for_child(int64_t number, const SyscallArgs& arguments);
  int64_t interrupted_call(bool restartable);
  void let_others_run();
  int64_t send_to_thread(const SystemCall& call);
  void take_sent(Thread& thread);
  Thread* receiver_of(int signal);
  void open_masks();

  bool read_memory(GuestAddr from, void* to, size_t size) override;
  bool write_word(GuestAddr to, uint32_t value) override;
  WordAccess access_to(GuestAddr word) override;
  bool has_thread(ThreadId id) override { return find_thread(id) != nullptr; }
  int64_t try_lock_of_stranger(ThreadId owner, int operation) override;
  void wake(Thread& thread, int64_t result) override;
  bool is_shared(GuestAddr word) override;
  void wake_in_kernel(GuestAddr word) override;
  void release_shared_locks();
  size_t choose_waiter(size_t count) override { return scheduler_.choose(count); }

  int check_clone(const SyscallArgs& arguments);
  int64_t sys_clone(const SystemCall& call);
  bool can_write_word(GuestAddr to);
  void take_from_child(VforkMemory& child);
  int64_t sys_execve(const SystemCall& call);

  std::optional<PendingSignal> take_pending(Thread& self);
  // For how many instructions the signal that waits does not come yet; at most:
  static constexpr uint64_t kHoldBack = 100'000;
  uint64_t hold_back(const Thread& thread);
  void put_back(Thread& self, const SystemCall& call);
  void let_in_again(Thread& self);
  int64_t enter_kernel(Thread& self, const CallShape& shape, const SyscallArgs& arguments);

  void on_mask(uint64_t mask) override;
  // None is received from here on until the mask is set.
  void hold_signals();
  void on_action(int signal) override;
  void on_robust_list(GuestAddr head) override;
  // The first process of a PID namespace, which no signal ends that has no handler.
  bool is_init() const { return identity().pid == 1; }
  void on_fault(int signal, siginfo_t* info, void* context) override;
  void on_asynchronous(int signal, siginfo_t* info, void* context) override;

  ProcessOptions process_options_;
  Outside& outside_;
  engine::FastSyscall fast_syscall_;
  Program program_;
  uint64_t initial_brk_ = 0;
  Image image_;
  StackImage stack_;
  GuestLimits limits_;
  Affinity affinity_;
  HiddenHost hidden_host_;
  SeccompFilters seccomp_;
  Refusals refusals_;
  std::unique_ptr<VforkMemory> vfork_parent_; // of a child by vfork
  bool shares_actions_ = false;               // of signals, with the parent
  Ending ending_;
  bool live_ = false; // the kernel's signal state follows the guest's
  Scheduler scheduler_;
  Futexes futexes_;
  OsThreads os_threads_;
  Fibers fibers_;
  Lockstep lockstep_;
  Copies copies_;
  uint64_t turn_end_ = 0;
  uint64_t search_left_ = 0; // instructions that the turn may last longer
  uint64_t fiber_count_ = 0;
  bool orphan_ = false;        // the OS thread of main() is not here
  int leader_status_ = 0;      // of the first thread's own exit
  std::exception_ptr failure_; // of rdb, in any of the OS threads
  std::atomic<uint32_t> over_ = 0;
  static thread_local Thread* self_; // the guest thread of this OS thread
  static thread_local HeldSignals held_;
};

} // namespace rdb::guest
