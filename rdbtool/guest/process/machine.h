// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guest's machine: memory, registers, signal state, and everything about them that follows from the
// guest's own actions. What a live run and a replay do alike is here; where inputs come from is not.
#pragma once

#include "rdbtool/engine/translator.h"
#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/memory/host_place.h"
#include "rdbtool/guest/process/machine_listener.h"
#include "rdbtool/guest/signals/signal_frame.h"
#include "rdbtool/guest/threads/thread.h"
#include "rdbtool/guest/threads/turn_options.h"
#include "rdbtool/syscalls/table.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace rdb::guest {

struct MachineOptions {
  LayoutVersion layout = kNewestLayout;
  uint64_t layout_top = top_for_guest();
  uint64_t seed = 0;
  bool randomise = true;
  bool step_only = false;
  bool superblocks = true;
  bool eager = false; // they are made early
  TurnOptions turns;
  bool lockstep = false; // live runs: compare with stepping all the way
};

// How a process ended.
struct Ending {
  enum class Kind : uint8_t { exited, signalled, stopped } kind = Kind::exited;
  int value = 0; // exit status or signal number
};

// Where segments may begin at most: the end of user space, less a page.
inline constexpr uint64_t kTaskSize = (1ull << 47) - 4096;

// Whether a signal without a handler ends the process.
bool ends_by_default(int signal);

class Machine {
public:
  explicit Machine(const MachineOptions& options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  engine::Engine& engine() { return *engine_; }
  engine::Translator& translator() { return *engine_; }
  engine::Registers& registers() { return engine_->registers(); }
  AddressSpace& space() { return space_; }
  const AddressSpace& space() const { return space_; }
  Time now() const { return Time(engine_->executed()); }
  const MachineOptions& options() const { return options_; }
  // All guest threads live in one OS thread, and take turns there.
  bool in_one_thread() const { return options_.turns.one_thread; }

  // The thread whose registers the engine holds. registers(), signals and calls are about this one.
  Thread& current() { return *current_; }
  const Thread& current() const { return *current_; }
  const Thread* loaded() const { return current_; }
  const std::map<ThreadId, std::unique_ptr<Thread>>& threads() const { return threads_; }
  Thread* find_thread(ThreadId id);
  // The first thread added is loaded; others start with a copy of the current one's registers.
  Thread& add_thread(std::unique_ptr<Thread> thread);
  void remove_thread(Thread& thread);
  // In the child of a fork: of all threads only the current one is there, under another number.
  void keep_only_current(ThreadId id);
  // Saves the current thread's registers, for load() and for those who look at all threads.
  void save_current();
  // Makes a thread the current one. What was current before must have been saved.
  void load(Thread& thread);
  void switch_to(Thread& thread);

  // The call that the guest has just made.
  SystemCall current_call();

  // Carries out a call that concerns only the machine (signal actions and masks, segment bases ...) and needs
  // nothing from outside. Nothing if the call is not one of these.
  std::optional<int64_t> internal_call(const SystemCall& call);

  // In a new process or thread, after its call of clone: the stack and the TLS pointer that it was given.
  void begin_child(const SystemCall& call);

  // rt_sigreturn: all registers come from the frame. False: the frame is bad, and a SIGSEGV is due.
  bool return_from_signal();

  enum class Delivery : uint8_t { handler, ignored, fatal };
  // Gives a signal to the guest. `fatal`: it has no handler and the process ends. One whose frame finds no
  // room becomes a SIGSEGV: see fatal_signal().
  Delivery deliver(const PendingSignal& signal);
  int fatal_signal() const { return fatal_signal_; }

  // A call of the vsyscall page's functions has this result. Where it is EFAULT, the kernel sends a signal in
  // its place, and the function has not begun.
  std::optional<PendingSignal> vsyscall_fault(const SystemCall& call, int64_t result);

  // A signal has ended a call that waits with this mask: its handler runs with it, and returns to the one
  // before.
  void wait_ended(uint64_t mask_of_call);

  // What a fault of the guest's becomes: a signal that no mask holds back.
  PendingSignal signal_of(const engine::Fault& fault);

  // Engine::run() for those who need not know that pages with translated code are write-protected: an
  // instruction that writes to them is executed like any other.
  engine::Stop run_guest(uint64_t limit);

  // What the guest is told that it is: /proc/self/exe would show rdb.
  struct Identity {
    std::string program; // resolved path of its executable
    int pid = 0;
    // The first process of a PID namespace, which no signal ends that has no handler.
    bool is_init() const { return pid == 1; }
  };
  void set_identity(const Identity& identity) { identity_ = identity; }
  const Identity& identity() const { return identity_; }

  const SignalAction& action(int signal) const; // the current thread's
  // For a thread that has actions of its own.
  std::unique_ptr<SignalActions> copy_actions() const { return std::make_unique<SignalActions>(actions_); }
  uint64_t mask() const { return current_->mask; }

  // What the guest sets by calls, and by returning from handlers. The listener hears of it, if there is one.
  void set_listener(MachineListener* listener) { listener_ = listener; }
  void set_mask(uint64_t mask); // the current thread's
  void set_action(int signal, const SignalAction& action);
  void set_robust_list(GuestAddr head); // the current thread's

private:
  int64_t rt_sigaction(const SyscallArgs& args);
  int64_t rt_sigprocmask(const SyscallArgs& args);
  int64_t sigaltstack(const SyscallArgs& args);
  int set_alternate_stack(const AlternateStack& stack);
  Delivery deliver_without_room(const PendingSignal& signal);
  int64_t arch_prctl(const SyscallArgs& args);
  bool release_written_code(const engine::Fault& fault);
  engine::Stop finish_write_to_code();

  MachineOptions options_;
  MachineListener* listener_ = nullptr;
  Identity identity_;
  AddressSpace space_;
  std::unique_ptr<engine::Translator> engine_;
  SignalActions actions_;
  std::map<ThreadId, std::unique_ptr<Thread>> threads_;
  Thread* current_ = nullptr;
  uint64_t started_ = 0; // threads, so far
  int fatal_signal_ = 0;
};

} // namespace rdb::guest
