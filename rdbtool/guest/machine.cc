// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/machine.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/host_signals.h"

#include <algorithm>
#include <asm/prctl.h>
#include <cerrno>
#include <sched.h>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

using engine::RAX;
using engine::RSP;

constexpr uint64_t kUnblockable = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
constexpr int kSignals = 64;
constexpr uint64_t kRobustHeadSize = 24;
constexpr int kAutoDisarm = 1 << 31; // SS_AUTODISARM

uint64_t bit(int signal) {
  return 1ull << (signal - 1);
}

bool ignored_by_default(int signal) {
  return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

const auto kDefault = reinterpret_cast<uint64_t>(SIG_DFL);
const auto kIgnore = reinterpret_cast<uint64_t>(SIG_IGN);

} // namespace

bool ends_by_default(int signal) {
  switch (signal) {
  case SIGKILL: // nobody can see it come
  case SIGSTOP:
  case SIGTSTP:
  case SIGTTIN:
  case SIGTTOU:
    return false;
  default:
    return !ignored_by_default(signal);
  }
}

Machine::Machine(const MachineOptions& options)
    : options_(options), space_(make_layout(options.seed, options.randomise)) {
  engine::TranslatorOptions engine_options;
  engine_options.cache_place = space_.layout().cache;
  engine_options.cache_size = kCacheSize;
  engine_options.table_place = kTablePlace;
  engine_options.step_only = options.step_only;
  engine_options.traces = options.traces;
  // A check should see as many of them as possible.
  if (options.eager || options.lockstep) engine_options.uses_before_trace = 20;
  engine_ = std::make_unique<engine::Translator>(space_, engine_options);
  space_.on_code_change([this](GuestAddr begin, uint64_t size) { engine_->invalidate(begin, size); });
}

Machine::~Machine() = default;

Thread* Machine::find_thread(ThreadId id) {
  auto found = threads_.find(id);
  return found == threads_.end() ? nullptr : found->second.get();
}

Thread& Machine::add_thread(std::unique_ptr<Thread> thread) {
  Thread& added = *thread;
  added.order = started_++;
  if (!threads_.emplace(added.id, std::move(thread)).second)
    bug("two threads with the number {}", added.id.value);
  if (current_ == nullptr) {
    current_ = &added;
  } else {
    added.registers = registers();
    added.vectors.resize(engine_->vector_size());
    engine_->read_vectors(added.vectors);
  }
  return added;
}

void Machine::remove_thread(Thread& thread) {
  if (&thread == current_) current_ = nullptr;
  threads_.erase(thread.id);
}

void Machine::keep_only_current(ThreadId id) {
  auto node = threads_.extract(current_->id);
  threads_.clear();
  node.key() = id;
  node.mapped()->id = id;
  threads_.insert(std::move(node));
}

void Machine::save_current() {
  current_->registers = registers();
  current_->vectors.resize(engine_->vector_size());
  engine_->read_vectors(current_->vectors);
}

void Machine::load(Thread& thread) {
  current_ = &thread;
  registers() = thread.registers;
  engine_->write_vectors(thread.vectors);
}

void Machine::switch_to(Thread& thread) {
  if (&thread == current_) return;
  if (current_ != nullptr) save_current();
  load(thread);
}

bool shares_memory(const SystemCall& call) {
  return call.number == SYS_vfork || (call.number == SYS_clone && call.arguments[0] & CLONE_VM);
}

SystemCall call_in(const engine::Registers& regs) {
  SystemCall call;
  call.number = static_cast<int64_t>(regs.gpr[RAX]);
  const engine::Gpr order[6] = {engine::RDI, engine::RSI, engine::RDX, engine::R10, engine::R8, engine::R9};
  for (size_t i = 0; i < 6; ++i)
    call.arguments[i] = regs.gpr[order[i]];
  return call;
}

SystemCall Machine::current_call() {
  return call_in(registers());
}

std::optional<int64_t> Machine::internal_call(const SystemCall& call) {
  switch (call.number) {
  case SYS_arch_prctl:
    return arch_prctl(call.arguments);
  case SYS_rt_sigaction:
    return rt_sigaction(call.arguments);
  case SYS_rt_sigprocmask:
    return rt_sigprocmask(call.arguments);
  case SYS_sigaltstack:
    return sigaltstack(call.arguments);
  case SYS_set_robust_list:
    if (call.arguments[1] != kRobustHeadSize) return -EINVAL;
    current_->robust_list = GuestAddr(call.arguments[0]);
    return 0;
  default:
    return std::nullopt;
  }
}

void Machine::begin_child(const SystemCall& call) {
  if (call.number != SYS_clone) return;
  engine::Registers& regs = registers();
  if (call.arguments[1] != 0) regs.gpr[RSP] = call.arguments[1];
  if (call.arguments[0] & CLONE_SETTLS) regs.fs_base = call.arguments[4];
}

int64_t Machine::arch_prctl(const SyscallArgs& args) {
  engine::Registers& regs = registers();
  GuestAddr address(args[1]);
  switch (static_cast<int>(args[0])) {
  case ARCH_SET_FS:
    regs.fs_base = address.value;
    return 0;
  case ARCH_SET_GS:
    regs.gs_base = address.value;
    return 0;
  case ARCH_GET_FS:
    return space_.write(address, &regs.fs_base, 8) == 8 ? 0 : -EFAULT;
  case ARCH_GET_GS:
    return space_.write(address, &regs.gs_base, 8) == 8 ? 0 : -EFAULT;
  default:
    return -EINVAL;
  }
}

void Machine::set_mask(uint64_t mask) {
  current_->mask = mask & ~kUnblockable;
  on_mask(current_->mask);
}

void Machine::set_action(int signal, const SignalAction& action) {
  actions_[signal] = action;
  on_action(signal);
}

int64_t Machine::rt_sigprocmask(const SyscallArgs& args) {
  auto how = static_cast<int>(args[0]);
  GuestAddr set(args[1]);
  GuestAddr old_set(args[2]);
  if (args[3] != 8) return -EINVAL;
  uint64_t old = current_->mask;
  if (set.value != 0) {
    uint64_t bits;
    if (space_.read(set, &bits, 8) != 8) return -EFAULT;
    if (how == SIG_BLOCK)
      bits = current_->mask | bits;
    else if (how == SIG_UNBLOCK)
      bits = current_->mask & ~bits;
    else if (how != SIG_SETMASK)
      return -EINVAL;
    set_mask(bits);
  }
  if (old_set.value != 0 && space_.write(old_set, &old, 8) != 8) return -EFAULT;
  return 0;
}

int64_t Machine::rt_sigaction(const SyscallArgs& args) {
  auto signal = static_cast<int>(args[0]);
  GuestAddr action(args[1]);
  GuestAddr old_action(args[2]);
  if (args[3] != 8 || signal < 1 || signal > kSignals) return -EINVAL;
  SignalAction old = actions_[signal];
  if (action.value != 0) {
    SignalAction fresh;
    if (signal == SIGKILL || signal == SIGSTOP) return -EINVAL;
    if (space_.read(action, &fresh, sizeof fresh) != sizeof fresh) return -EFAULT;
    fresh.mask &= ~kUnblockable;
    set_action(signal, fresh);
  }
  if (old_action.value != 0 && space_.write(old_action, &old, sizeof old) != sizeof old) return -EFAULT;
  return 0;
}

int64_t Machine::sigaltstack(const SyscallArgs& args) {
  struct {
    uint64_t base;
    int32_t flags;
    int32_t pad;
    uint64_t size;
  } raw = {};
  GuestAddr stack(args[0]);
  GuestAddr old_stack(args[1]);
  AlternateStack old = current_->alternate_stack;
  bool on_it = on_alternate_stack(current_->alternate_stack, registers().gpr[RSP]);
  if (stack.value != 0) {
    if (space_.read(stack, &raw, sizeof raw) != sizeof raw) return -EFAULT;
    if (on_it) return -EPERM;
    int mode = raw.flags & ~kAutoDisarm;
    if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK) return -EINVAL;
    if (mode != SS_DISABLE && raw.size < 2048) return -ENOMEM;
    current_->alternate_stack.base = mode == SS_DISABLE ? 0 : raw.base;
    current_->alternate_stack.size = mode == SS_DISABLE ? 0 : raw.size;
    current_->alternate_stack.flags = mode == SS_DISABLE ? SS_DISABLE : raw.flags & kAutoDisarm;
  }
  if (old_stack.value != 0) {
    raw.base = old.base;
    raw.flags = on_it ? old.flags | SS_ONSTACK : old.flags;
    raw.pad = 0;
    raw.size = old.size;
    if (space_.write(old_stack, &raw, sizeof raw) != sizeof raw) return -EFAULT;
  }
  return 0;
}

bool Machine::return_from_signal() {
  AlternateStack stack;
  uint64_t mask;
  if (!pop_signal_frame(*engine_, space_, mask, stack)) return false;
  if (!on_alternate_stack(current_->alternate_stack, registers().gpr[RSP])) current_->alternate_stack = stack;
  set_mask(mask);
  return true;
}

PendingSignal Machine::signal_of(const engine::Fault& fault) {
  PendingSignal signal;
  signal.number = fault.signal;
  signal.info = fault.info;
  signal.trap_number = fault.trap_number;
  signal.error_code = fault.error_code;
  if (fault.trap_number == 14) signal.fault_address = reinterpret_cast<uint64_t>(fault.info.si_addr);
  return signal;
}

bool Machine::write_to_code(const engine::Fault& fault, engine::Stop& after) {
  bool write = fault.trap_number == 14 && fault.error_code & 2;
  auto address = reinterpret_cast<uint64_t>(fault.info.si_addr);
  if (fault.signal != SIGSEGV || !write || !space_.release_code_page(GuestAddr(address))) return false;
  // This one instruction alone: what follows it may have changed.
  after = engine_->run(1);
  return true;
}

Machine::Delivery Machine::deliver(const PendingSignal& signal) {
  SignalAction action = actions_[signal.number];
  // A fault whose signal is blocked or ignored kills.
  bool forced = signal.info.si_code > 0 && kSynchronousSignals & bit(signal.number);
  if (forced && (current_->mask & bit(signal.number) || action.handler == kIgnore)) action.handler = kDefault;
  if (action.handler == kIgnore) return Delivery::ignored;
  if (action.handler == kDefault) {
    if (ignored_by_default(signal.number)) return Delivery::ignored;
    fatal_signal_ = signal.number;
    return Delivery::fatal;
  }
  if (!push_signal_frame(*engine_, space_, action, current_->alternate_stack, current_->mask, signal)) {
    fatal_signal_ = SIGSEGV;
    return Delivery::fatal;
  }
  if (action.flags & SA_RESETHAND) {
    SignalAction reset = action;
    reset.handler = kDefault;
    set_action(signal.number, reset);
  }
  if (current_->alternate_stack.flags & kAutoDisarm) current_->alternate_stack = {};
  uint64_t mask = current_->mask | action.mask;
  if (!(action.flags & SA_NODEFER)) mask |= bit(signal.number);
  set_mask(mask);
  return Delivery::handler;
}

} // namespace rdb::guest
