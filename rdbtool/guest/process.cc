// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/initial_stack.h"
#include "rdbtool/guest/raw_syscall.h"

#include <asm/prctl.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

using engine::RAX;
using engine::RSP;

constexpr uint64_t kUnblockable = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
constexpr int kSignals = 64;
constexpr int kAutoDisarm = 1 << 31; // SS_AUTODISARM

uint64_t bit(int signal) {
  return 1ull << (signal - 1);
}

bool ignored_by_default(int signal) {
  return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

std::array<uint8_t, 16> random_bytes(uint64_t seed) {
  std::array<uint8_t, 16> result;
  std::mt19937_64 generator(seed);
  for (size_t i = 0; i < result.size(); i += 8) {
    uint64_t word = generator();
    std::memcpy(result.data() + i, &word, 8);
  }
  return result;
}

} // namespace

Process::Process(const ProcessOptions& options)
    : options_(options), layout_(make_layout(options.seed, options.randomise)), space_(layout_) {
  engine::TranslatorOptions engine_options;
  engine_options.cache_place = layout_.cache;
  engine_options.cache_size = kCacheSize;
  engine_options.table_place = kTablePlace;
  engine_options.step_only = options.step_only;
  engine_options.traces = options.traces;
  int error = resolve_program(options.path, options.argv, program_);
  if (error != 0) user_error("{}: {}", options.path, std::strerror(-error));
  engine_ = std::make_unique<engine::Translator>(space_, engine_options);
  space_.on_code_change([this](GuestAddr begin, uint64_t size) { engine_->invalidate(begin, size); });
  load();
}

Process::~Process() = default;

void Process::load() {
  Image image = load_image(space_, program_.path);
  Image interpreter;
  if (!image.interpreter.empty()) interpreter = load_image(space_, image.interpreter);
  space_.set_brk(image.position_independent ? layout_.brk : page_up(image.end));
  InitialStack stack{program_.argv,
                     options_.environment,
                     options_.path,
                     image,
                     image.interpreter.empty() ? nullptr : &interpreter,
                     random_bytes(options_.seed)};
  engine::Registers& regs = engine_->registers();
  regs = {};
  regs.gpr[RSP] = build_stack(space_, stack);
  regs.rip = image.interpreter.empty() ? image.entry : interpreter.entry;
  std::vector<std::byte> vectors(engine_->vector_size());
  const uint32_t mxcsr = 0x1F80;
  std::memcpy(vectors.data() + 24, &mxcsr, 4);
  engine_->write_vectors(vectors);
}

Ending Process::run() {
  // What the parent of rdb ignored or blocked, the guest inherits.
  for (int signal = 1; signal <= kSignals; ++signal) {
    SignalAction old;
    if (raw_syscall(SYS_rt_sigaction, signal, 0, reinterpret_cast<int64_t>(&old), 8) == 0 &&
        old.handler == reinterpret_cast<uint64_t>(SIG_IGN))
      actions_[signal].handler = reinterpret_cast<uint64_t>(SIG_IGN);
  }
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<int64_t>(&mask_), 8);
  install_host_signals(*engine_, *this);
  set_mask(mask_);

  Next next = Next::go_on;
  while (next == Next::go_on) {
    if (pending_) {
      next = deliver_pending();
      continue;
    }
    if (engine_->executed() >= options_.max_instructions) {
      ending_ = {Ending::Kind::stopped_at_limit, 0};
      break;
    }
    engine::Stop stop = engine_->run(options_.max_instructions - engine_->executed());
    switch (stop.reason) {
    case engine::StopReason::system_call:
      next = system_call();
      break;
    case engine::StopReason::input:
      engine_->finish_input(engine_->execute_input());
      break;
    case engine::StopReason::fault:
      next = fault(stop.fault);
      break;
    case engine::StopReason::limit:
    case engine::StopReason::interrupted:
      break;
    case engine::StopReason::address:
    case engine::StopReason::access:
      bug("a stop that nobody asked for at {:#x}", engine_->registers().rip);
    }
  }
  return ending_;
}

Process::Next Process::system_call() {
  engine::Registers& regs = engine_->registers();
  SystemCall call;
  call.number = static_cast<int64_t>(regs.gpr[RAX]);
  const engine::Gpr order[6] = {engine::RDI, engine::RSI, engine::RDX, engine::R10, engine::R8, engine::R9};
  for (int i = 0; i < 6; ++i)
    call.arguments[i] = static_cast<int64_t>(regs.gpr[order[i]]);
  Next next = Next::go_on;
  if (call.number == SYS_rt_sigreturn) {
    // Restores every register, rax too.
    AlternateStack stack;
    uint64_t mask;
    if (!pop_signal_frame(*engine_, space_, mask, stack)) {
      PendingSignal bad_frame;
      bad_frame.number = SIGSEGV;
      bad_frame.info.si_signo = SIGSEGV;
      bad_frame.info.si_code = SI_KERNEL;
      return deliver(bad_frame);
    }
    if (!on_alternate_stack(alternate_stack_, regs.gpr[RSP])) alternate_stack_ = stack;
    set_mask(mask);
    return next;
  }
  int64_t result = dispatch(call, next);
  if (result == kNotStarted) {
    // A signal comes first; afterwards the call is made again.
    regs.rip -= 2;
    return next;
  }
  regs.gpr[RAX] = static_cast<uint64_t>(result);
  return next;
}

int64_t Process::dispatch(const SystemCall& call, Next& next) {
  const int64_t* a = call.arguments;
  auto u = [&](int i) { return static_cast<uint64_t>(a[i]); };
  auto n = [&](int i) { return static_cast<int>(a[i]); };
  switch (call.number) {
  case SYS_exit:
  case SYS_exit_group:
    ending_ = {Ending::Kind::exited, n(0) & 0xFF};
    next = Next::ended;
    return 0;
  case SYS_mmap:
    return space_.mmap(u(0), u(1), n(2), n(3), n(4), u(5));
  case SYS_munmap:
    return space_.munmap(u(0), u(1));
  case SYS_mprotect:
    return space_.mprotect(u(0), u(1), n(2));
  case SYS_mremap:
    return space_.mremap(u(0), u(1), u(2), n(3), u(4));
  case SYS_brk:
    return space_.brk(u(0));
  case SYS_madvise:
    return space_.madvise(u(0), u(1), n(2));
  case SYS_arch_prctl:
    return sys_arch_prctl(n(0), u(1));
  case SYS_rt_sigaction:
    return sys_rt_sigaction(n(0), u(1), u(2), u(3));
  case SYS_rt_sigprocmask:
    return sys_rt_sigprocmask(n(0), u(1), u(2), u(3));
  case SYS_sigaltstack:
    return sys_sigaltstack(u(0), u(1));
  case SYS_set_tid_address:
    return raw_syscall(SYS_gettid);
  case SYS_set_robust_list:
    return 0;
  case SYS_rseq:
  case SYS_clone3:
    return -ENOSYS;
  case SYS_clone:
  case SYS_fork:
  case SYS_vfork:
    return sys_clone(call);
  case SYS_execve:
    return sys_execve(u(0), u(1), u(2), AT_FDCWD, 0);
  case SYS_execveat:
    return sys_execve(u(1), u(2), u(3), n(0), n(4));
  default:
    return pass_through(call);
  }
}

int64_t Process::pass_through(const SystemCall& call) {
  int64_t result = interruptible_syscall(&pending_, call.number, call.arguments);
  // A page that is read-only for the sake of translated code looks bad to the kernel.
  if (result == -EFAULT && space_.release_all_code_pages())
    result = interruptible_syscall(&pending_, call.number, call.arguments);
  if (call.number == SYS_readlink)
    return sys_readlink(result, static_cast<uint64_t>(call.arguments[0]),
                        static_cast<uint64_t>(call.arguments[1]), static_cast<uint64_t>(call.arguments[2]));
  if (call.number == SYS_readlinkat)
    return sys_readlink(result, static_cast<uint64_t>(call.arguments[1]),
                        static_cast<uint64_t>(call.arguments[2]), static_cast<uint64_t>(call.arguments[3]));
  return result;
}

int64_t Process::sys_arch_prctl(int code, uint64_t address) {
  engine::Registers& regs = engine_->registers();
  switch (code) {
  case ARCH_SET_FS:
    regs.fs_base = address;
    return 0;
  case ARCH_SET_GS:
    regs.gs_base = address;
    return 0;
  case ARCH_GET_FS:
    return space_.write(GuestAddr(address), &regs.fs_base, 8) == 8 ? 0 : -EFAULT;
  case ARCH_GET_GS:
    return space_.write(GuestAddr(address), &regs.gs_base, 8) == 8 ? 0 : -EFAULT;
  default:
    return -EINVAL;
  }
}

int64_t Process::sys_readlink(int64_t result, uint64_t path, uint64_t buffer, uint64_t size) {
  if (result < 0) return result;
  char name[64] = {};
  space_.read(GuestAddr(path), name, sizeof name - 1);
  std::string own = "/proc/" + std::to_string(getpid()) + "/exe";
  if (std::strcmp(name, "/proc/self/exe") != 0 && name != own &&
      std::strcmp(name, "/proc/thread-self/exe") != 0)
    return result;
  char real[4096];
  if (realpath(program_.path.c_str(), real) == nullptr) return result;
  size_t length = std::min<size_t>(std::strlen(real), size);
  return space_.write(GuestAddr(buffer), real, length) == length ? static_cast<int64_t>(length) : -EFAULT;
}

void Process::set_mask(uint64_t mask) {
  mask_ = mask & ~kUnblockable;
  uint64_t real = mask_ & ~kSynchronousSignals;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&real), 0, 8);
}

int64_t Process::sys_rt_sigprocmask(int how, uint64_t set, uint64_t old_set, uint64_t size) {
  if (size != 8) return -EINVAL;
  uint64_t old = mask_;
  if (set != 0) {
    uint64_t bits;
    if (space_.read(GuestAddr(set), &bits, 8) != 8) return -EFAULT;
    if (how == SIG_BLOCK)
      bits = mask_ | bits;
    else if (how == SIG_UNBLOCK)
      bits = mask_ & ~bits;
    else if (how != SIG_SETMASK)
      return -EINVAL;
    set_mask(bits);
  }
  if (old_set != 0 && space_.write(GuestAddr(old_set), &old, 8) != 8) return -EFAULT;
  return 0;
}

int64_t Process::sys_rt_sigaction(int signal, uint64_t action, uint64_t old_action, uint64_t size) {
  if (size != 8 || signal < 1 || signal > kSignals) return -EINVAL;
  SignalAction fresh;
  SignalAction old = actions_[signal];
  if (action != 0) {
    if (signal == SIGKILL || signal == SIGSTOP) return -EINVAL;
    if (space_.read(GuestAddr(action), &fresh, sizeof fresh) != sizeof fresh) return -EFAULT;
    fresh.mask &= ~kUnblockable;
    actions_[signal] = fresh;
    if (!(kSynchronousSignals & bit(signal))) {
      Disposition disposition = fresh.handler == reinterpret_cast<uint64_t>(SIG_DFL) ? Disposition::standard
                                : fresh.handler == reinterpret_cast<uint64_t>(SIG_IGN)
                                    ? Disposition::ignored
                                    : Disposition::received;
      set_disposition(signal, disposition, fresh.flags);
    }
  }
  if (old_action != 0 && space_.write(GuestAddr(old_action), &old, sizeof old) != sizeof old) return -EFAULT;
  return 0;
}

int64_t Process::sys_sigaltstack(uint64_t stack, uint64_t old_stack) {
  struct {
    uint64_t base;
    int32_t flags;
    int32_t pad;
    uint64_t size;
  } raw = {};
  uint64_t sp = engine_->registers().gpr[RSP];
  AlternateStack old = alternate_stack_;
  bool on_it = on_alternate_stack(alternate_stack_, sp);
  if (stack != 0) {
    if (space_.read(GuestAddr(stack), &raw, sizeof raw) != sizeof raw) return -EFAULT;
    if (on_it) return -EPERM;
    int mode = raw.flags & ~kAutoDisarm;
    if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK) return -EINVAL;
    if (mode != SS_DISABLE && raw.size < 2048) return -ENOMEM;
    alternate_stack_.base = mode == SS_DISABLE ? 0 : raw.base;
    alternate_stack_.size = mode == SS_DISABLE ? 0 : raw.size;
    alternate_stack_.flags = mode == SS_DISABLE ? SS_DISABLE : raw.flags & kAutoDisarm;
  }
  if (old_stack != 0) {
    raw.base = old.base;
    raw.flags = on_it ? old.flags | SS_ONSTACK : old.flags;
    raw.pad = 0;
    raw.size = old.size;
    if (space_.write(GuestAddr(old_stack), &raw, sizeof raw) != sizeof raw) return -EFAULT;
  }
  return 0;
}

Process::Next Process::fault(const engine::Fault& fault) {
  auto address = reinterpret_cast<uint64_t>(fault.info.si_addr);
  bool write = fault.trap_number == 14 && fault.error_code & 2;
  if (fault.signal == SIGSEGV && write && space_.release_code_page(GuestAddr(address))) {
    // The guest writes to code: this one instruction alone, what follows it may have changed.
    engine::Stop stop = engine_->run(1);
    if (stop.reason == engine::StopReason::fault) return this->fault(stop.fault);
    return Next::go_on;
  }
  PendingSignal signal;
  signal.number = fault.signal;
  signal.info = fault.info;
  signal.trap_number = fault.trap_number;
  signal.error_code = fault.error_code;
  if (fault.trap_number == 14) signal.fault_address = address;
  // A fault whose signal is blocked or ignored kills.
  SignalAction& action = actions_[fault.signal];
  if (mask_ & bit(fault.signal) || action.handler == reinterpret_cast<uint64_t>(SIG_IGN))
    action.handler = reinterpret_cast<uint64_t>(SIG_DFL);
  return deliver(signal);
}

Process::Next Process::deliver(const PendingSignal& signal) {
  SignalAction action = actions_[signal.number];
  if (action.handler == reinterpret_cast<uint64_t>(SIG_IGN)) return Next::go_on;
  if (action.handler == reinterpret_cast<uint64_t>(SIG_DFL)) {
    if (ignored_by_default(signal.number)) return Next::go_on;
    ending_ = {Ending::Kind::signalled, signal.number};
    return Next::ended;
  }
  if (!push_signal_frame(*engine_, space_, action, alternate_stack_, mask_, signal)) {
    ending_ = {Ending::Kind::signalled, SIGSEGV};
    return Next::ended;
  }
  if (action.flags & SA_RESETHAND) {
    actions_[signal.number].handler = reinterpret_cast<uint64_t>(SIG_DFL);
    if (!(kSynchronousSignals & bit(signal.number))) set_disposition(signal.number, Disposition::standard, 0);
  }
  if (alternate_stack_.flags & kAutoDisarm) alternate_stack_ = {};
  uint64_t mask = mask_ | action.mask;
  if (!(action.flags & SA_NODEFER)) mask |= bit(signal.number);
  set_mask(mask);
  return Next::go_on;
}

Process::Next Process::deliver_pending() {
  PendingSignal signal = received_;
  pending_ = false;
  Next next = deliver(signal);
  // Opens the kernel's mask again where no handler was entered.
  set_mask(mask_);
  return next;
}

void Process::on_asynchronous(int signal, siginfo_t* info, void* context) {
  received_.number = signal;
  received_.info = *info;
  received_.trap_number = 0;
  received_.error_code = 0;
  received_.fault_address = 0;
  pending_ = true;
  // No other one until this is delivered.
  uint64_t blocked = ~kSynchronousSignals;
  std::memcpy(&static_cast<ucontext_t*>(context)->uc_sigmask, &blocked, 8);
  engine_->interrupt();
}

void Process::on_fault(int signal, siginfo_t* info, void* context) {
  if (info->si_code <= 0) {
    // Not raised by an instruction, but sent by someone (kill, tgkill, sigqueue).
    on_asynchronous(signal, info, context);
    return;
  }
  if (engine_->handle_signal(signal, info, context)) return;
  const auto* gregs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  char text[256];
  int length =
      std::snprintf(text, sizeof text,
                    "rdb: internal error, please report it: signal %d at host address %#llx (data %p), "
                    "guest pc %#llx, after %llu guest instructions\n",
                    signal, static_cast<unsigned long long>(gregs[REG_RIP]), info->si_addr,
                    static_cast<unsigned long long>(engine_->registers().rip),
                    static_cast<unsigned long long>(engine_->executed()));
  raw_syscall(SYS_write, 2, reinterpret_cast<int64_t>(text), length);
  raw_syscall(SYS_exit_group, kExitFailure);
}

} // namespace rdb::guest
