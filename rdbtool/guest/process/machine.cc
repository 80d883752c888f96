// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/machine.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/log.h"
#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/engine/translate/code_path.h"
#include "rdbtool/guest/host/own_executable.h"
#include "rdbtool/guest/signals/host_signals.h"

#include <algorithm>
#include <asm/prctl.h>
#include <cerrno>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

using engine::RAX;
using engine::RSP;

constexpr uint64_t kUnblockable = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
constexpr int kSignals = 64;
constexpr uint64_t kRobustHeadSize = 24;

} // namespace

Machine::Machine(const MachineOptions& options)
    : options_(options),
      space_(make_layout({options.layout, options.seed, options.randomise, options.layout_top})) {
  require_proc();
  engine::TranslatorOptions engine_options;
  engine_options.cache_place = space_.layout().cache;
  engine_options.cache_size = kCacheSize;
  engine_options.table_place = kTablePlace;
  engine_options.step_only = options.step_only;
  engine_options.superblocks = options.superblocks;
  // A check should see as many of them as possible.
  if (options.eager || options.lockstep) engine_options.uses_before_superblock = 20;
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
    added.last_trap = current_->last_trap;
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
    set_robust_list(GuestAddr(call.arguments[0]));
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
  case ARCH_SET_GS:
    if (address.value >= kTaskSize) return -EPERM;
    (args[0] == ARCH_SET_FS ? regs.fs_base : regs.gs_base) = address.value;
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
  if (listener_ != nullptr) listener_->on_mask(current_->mask);
}

const SignalAction& Machine::action(int signal) const {
  const bool own = current_ != nullptr && current_->own_actions != nullptr;
  return (own ? *current_->own_actions : actions_)[static_cast<size_t>(signal)];
}

void Machine::set_action(int signal, const SignalAction& action) {
  if (current_->own_actions != nullptr) {
    (*current_->own_actions)[static_cast<size_t>(signal)] = action;
    return; // for the kernel there is one process
  }
  actions_[static_cast<size_t>(signal)] = action;
  if (listener_ != nullptr) listener_->on_action(signal);
}

void Machine::set_robust_list(GuestAddr head) {
  current_->robust_list = head;
  if (listener_ != nullptr) listener_->on_robust_list(head);
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
  SignalAction old = this->action(signal);
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

// As the kernel does it, with the stack pointer that the thread has now.
int Machine::set_alternate_stack(const AlternateStack& stack) {
  if (on_alternate_stack(current_->alternate_stack, registers().gpr[RSP])) return -EPERM;
  int mode = stack.flags & ~kAutoDisarm;
  if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK) return -EINVAL;
  if (mode == SS_DISABLE) {
    current_->alternate_stack = {};
    return 0;
  }
  if (stack.size < 2048) return -ENOMEM;
  current_->alternate_stack = stack;
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
  bool on_it = on_alternate_stack(old, registers().gpr[RSP]);
  if (stack.value != 0) {
    if (space_.read(stack, &raw, sizeof raw) != sizeof raw) return -EFAULT;
    if (int error = set_alternate_stack({raw.base, raw.flags, raw.size})) return error;
  }
  if (old_stack.value != 0) {
    raw.base = old.base;
    raw.flags = (old.flags & ~SS_ONSTACK) | (on_it ? SS_ONSTACK : 0);
    raw.pad = 0;
    raw.size = old.size;
    if (space_.write(old_stack, &raw, sizeof raw) != sizeof raw) return -EFAULT;
  }
  return 0;
}

bool Machine::return_from_signal() {
  ReturnedFrame frame;
  bool readable = read_returned(*engine_, space_, frame);
  if (frame.stack) set_alternate_stack(*frame.stack); // what the kernel would not take is left as it is
  bool complete = readable && pop_signal_frame(*engine_, space_);
  if (frame.mask) set_mask(*frame.mask); // last: a signal may come from here on
  return complete;
}

std::optional<PendingSignal> Machine::vsyscall_fault(const SystemCall& call, int64_t result) {
  constexpr uint64_t kDistance = 0x400; // of the functions
  engine::Registers& regs = registers();
  if (result != -EFAULT || !engine::is_in_vsyscall_page(regs.rip)) return std::nullopt;
  regs.rip &= ~(kDistance - 1);
  regs.gpr[RAX] = static_cast<uint64_t>(-ENOSYS);
  PendingSignal signal;
  signal.number = SIGSEGV;
  signal.info.si_signo = SIGSEGV;
  signal.info.si_code = SI_KERNEL;
  // What cannot be the program's it finds before it tries.
  const size_t pointers = call.number == SYS_time ? 1 : 2;
  for (size_t i = 0; i < pointers; ++i) {
    uint64_t pointer = call.arguments[i];
    if (pointer <= kTaskSize) continue;
    signal.info.si_code = SEGV_MAPERR;
    signal.info.si_addr = reinterpret_cast<void*>(pointer);
    signal.fault_address = pointer;
    signal.trap_number = kPageFault;
    signal.error_code = 6;
    break;
  }
  return signal;
}

void Machine::wait_ended(uint64_t mask_of_call) {
  current_->mask_before = current_->mask;
  current_->mask = mask_of_call & ~kUnblockable;
}

PendingSignal Machine::signal_of(const engine::Fault& fault) {
  PendingSignal signal;
  signal.number = fault.signal;
  signal.info = fault.info;
  signal.trap_number = fault.trap_number;
  signal.error_code = fault.error_code;
  if (fault.trap_number != kPageFault) return signal;
  signal.fault_address = reinterpret_cast<uint64_t>(fault.info.si_addr);
  constexpr uint64_t kPresent = 1;
  constexpr uint64_t kFetch = 0x10;
  if (fault.signal == SIGSEGV && fault.error_code & kFetch) {
    // The engine fetches by reading, and cannot tell what it may not read from what is not there. The kernel
    // brings in a page that can be accessed at all before it finds that it is not executable.
    const Mapping* mapping = space_.find(signal.fault_address);
    signal.info.si_code = mapping == nullptr ? SEGV_MAPERR : SEGV_ACCERR;
    // Of its own memory the kernel does not tell.
    bool present = mapping != nullptr ? mapping->protection != PROT_NONE : signal.fault_address >= kTaskSize;
    uint8_t byte;
    if (mapping != nullptr && present && space_.read(GuestAddr(signal.fault_address), &byte, 1) != 1) {
      // After the end of a file.
      present = false;
      signal.number = signal.info.si_signo = SIGBUS;
      signal.info.si_code = BUS_ADRERR;
    }
    signal.error_code = (fault.error_code & ~kPresent) | (present ? kPresent : 0);
  }
  return signal;
}

// Makes the page of code that a fault is about writable again. False if the fault is about something else.
bool Machine::release_written_code(const engine::Fault& fault) {
  bool write = fault.trap_number == 14 && fault.error_code & 2;
  auto address = reinterpret_cast<uint64_t>(fault.info.si_addr);
  return fault.signal == SIGSEGV && write && space_.release_code_page(GuestAddr(address));
}

// Executes the instruction that was stopped by a write to a page of code, and that one alone: what follows it
// may have changed. The instruction may lie on that page itself, and may write to more pages of code. If they
// were protected while it runs, it would fault again for each, and a string instruction that overwrites
// itself would go on with its new bytes. So no page is protected until it is done.
engine::Stop Machine::finish_write_to_code() {
  if (std::optional<engine::Instruction> writer = engine::instruction_at(space_, registers().rip))
    for (const engine::MemoryAccess& access : engine::memory_accesses(*writer, *engine_))
      if (access.write) space_.release_code_pages(access.address, access.address + access.size);
  AddressSpace::CodeUnwatched unwatched(space_);
  // It may have done a part already, so that nothing else may happen before it is done.
  engine::Stop stop;
  bool interrupted = false;
  do {
    stop = engine_->run(1);
    interrupted |= stop.reason == engine::StopReason::interrupted;
  } while (stop.reason == engine::StopReason::interrupted ||
           (stop.reason == engine::StopReason::fault && release_written_code(stop.fault)));
  if (interrupted && stop.reason == engine::StopReason::limit) stop.reason = engine::StopReason::interrupted;
  return stop;
}

engine::Stop Machine::run_guest(uint64_t limit) {
  using FirstStop = engine::Engine::FirstStop;
  uint64_t target = engine_->executed() + std::min(limit, UINT64_MAX - engine_->executed());
  engine::Stop stop = engine_->run(limit);
  while (stop.reason == engine::StopReason::fault && release_written_code(stop.fault)) {
    stop = finish_write_to_code();
    if (stop.reason != engine::StopReason::limit || engine_->executed() >= target) break;
    stop = engine_->run(target - engine_->executed(), FirstStop::kept);
  }
  return stop;
}

} // namespace rdb::guest
