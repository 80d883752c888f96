// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/process.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/calls/fast_syscall.h"
#include "rdbtool/guest/calls/open_call.h"
#include "rdbtool/guest/calls/refused_calls.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/host/privileges.h"
#include "rdbtool/guest/host/proc_identity.h"
#include "rdbtool/guest/memory/growing_memory.h"
#include "rdbtool/guest/memory/vfork_memory.h"
#include "rdbtool/guest/signals/call_alarm.h"
#include "rdbtool/syscalls/facts.h"

#include <bit>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <random>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

using engine::RAX;
using engine::RSP;

std::array<uint8_t, 16> random_bytes(uint64_t seed) {
  std::array<uint8_t, 16> result;
  std::mt19937_64 generator(seed);
  for (size_t i = 0; i < result.size(); i += 8) {
    uint64_t word = generator();
    std::memcpy(result.data() + i, &word, 8);
  }
  return result;
}

// Whether its arguments say where memory is, but not that the kernel is to access it.
bool is_memory_call(int64_t number) {
  const SyscallInfo* info = find_syscall(static_cast<uint64_t>(number));
  return info != nullptr && info->call_class == CallClass::memory;
}

} // namespace

Process::Process(const ProcessOptions& options, Outside& outside)
    : Machine(options.machine), process_options_(options), outside_(outside),
      scheduler_(options.machine.turns, [this] { return engine().executed(); }), futexes_(*this),
      os_threads_([this](Thread& thread) { body_of_os_thread(thread); }),
      fibers_([this](Thread& thread) { body_of_fiber(thread); }), lockstep_(*this),
      copies_(options.machine.turns) {
  if (int error = resolve_program(options.path, options.argv, program_))
    user_error("{}: {}", options.path, std::strerror(-error));
  add_thread(std::make_unique<Thread>(ThreadId(static_cast<int32_t>(raw_syscall(SYS_gettid)))));
  if (const Inherited& inherited = options.inherited; inherited.known) {
    for (size_t i = 0; i < std::size(GuestLimits::kKept); ++i)
      limits_.restore(GuestLimits::kKept[i], inherited.limits[i]);
    hidden_host_.set_deny_write_execute(inherited.deny_write_execute);
    hidden_host_.set_death_signal_is_guests(inherited.death_signal_is_guests);
    for (const auto& filter : inherited.filters)
      seccomp_.add(filter);
  }
  load_program();
}

Process::~Process() = default;

void Process::load_program() {
  if (std::string lost = lost_privileges(program_.path); !lost.empty()) {
    std::string line = fmt::format("rdb: {} {}: under rdb it runs without\n", program_.path, lost);
    raw_syscall(SYS_write, own_error_stream(), reinterpret_cast<int64_t>(line.data()),
                static_cast<int64_t>(line.size()));
  }
  image_ = load_image(space(), program_.path);
  const Image& image = image_;
  Image interpreter;
  if (!image.interpreter.empty()) interpreter = load_image(space(), image.interpreter);
  initial_brk_ = image.position_independent ? space().layout().brk : page_up(image.end);
  space().set_brk(initial_brk_);
  InitialStack stack{program_.argv,
                     process_options_.environment,
                     process_options_.path,
                     image,
                     image.interpreter.empty() ? nullptr : &interpreter,
                     random_bytes(options().seed)};
  engine::Registers& regs = registers();
  regs = {};
  stack_ = build_stack(space(), stack, limits_.get(RLIMIT_STACK).rlim_cur);
  regs.gpr[RSP] = stack_.pointer;
  regs.rip = image.interpreter.empty() ? image.entry : interpreter.entry;
  reset_vectors(engine());
  char real[PATH_MAX];
  set_identity({realpath(program_.path.c_str(), real) != nullptr ? real : program_.path, getpid()});
  size_t slash = process_options_.path.rfind('/');
  prctl(PR_SET_NAME, process_options_.path.c_str() + (slash == std::string::npos ? 0 : slash + 1));
}

Ending Process::run() {
  // What the parent of rdb ignored or blocked, the guest inherits.
  for (int signal = 1; signal <= 64; ++signal) {
    SignalAction old;
    if (raw_syscall(SYS_rt_sigaction, signal, 0, reinterpret_cast<int64_t>(&old), 8) == 0 &&
        old.handler == reinterpret_cast<uint64_t>(SIG_IGN))
      set_action(signal, {.handler = old.handler});
  }
  uint64_t inherited = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<int64_t>(&inherited), 8);
  if (process_options_.blocked) std::memcpy(&inherited, &*process_options_.blocked, sizeof inherited);
  if (process_options_.inherited.known) inherited = process_options_.inherited.mask;
  install_host_signals(translator(), *this);
  live_ = true;
  for (int signal = 1; signal <= 64; ++signal)
    on_action(signal);
  self_ = &current(); // a signal that has waited for this program comes at once
  set_mask(inherited);
  show_in_proc(stack_);
  outside_.started(*this);
  if (!options().lockstep) fast_syscall_ = outside_.make_fast_syscall(*this);

  run_thread(current());
  if (failure_) std::rethrow_exception(failure_);
  copies_.check(ending_);
  return ending_;
}

Process::Next Process::handle(const engine::Stop& stop) {
  switch (stop.reason) {
  case engine::StopReason::system_call: {
    Next next = system_call();
    if (next == Next::go_on) let_in_again(current());
    // What came during the call comes before it returns: the program relies on it after raise(), sigsuspend()
    // and an unblocking sigprocmask().
    if (next == Next::go_on)
      current().delayed = (current().pending || !current().sent.empty()) && hold_back(current()) != kHoldBack;
    return next;
  }
  case engine::StopReason::input:
    engine().finish_input(outside_.instruction(*this, stop.input));
    return Next::go_on;
  case engine::StopReason::fault: {
    auto is_mended = [&](const engine::Fault& fault) {
      return grow_for(*this, fault) || outside_.reach(*this, fault);
    };
    if (!is_mended(stop.fault)) return give(signal_of(stop.fault));
    // One that repeats, or gathers, may have done a part, and replay does it as a whole: no signal comes and
    // no other thread runs before it is done.
    engine::Stop after;
    do
      after = run_guest(1);
    while (after.reason == engine::StopReason::interrupted ||
           (after.reason == engine::StopReason::fault && is_mended(after.fault)));
    return handle(after);
  }
  case engine::StopReason::limit:
  case engine::StopReason::interrupted:
    return Next::go_on;
  case engine::StopReason::address:
  case engine::StopReason::access:
  case engine::StopReason::written:
    break;
  }
  bug("a stop that nobody asked for at {:#x}", registers().rip);
}

Process::Next Process::give(const PendingSignal& signal) {
  outside_.signalled(*this, signal);
  bool handled = action(signal.number).handler > reinterpret_cast<uint64_t>(SIG_IGN);
  GuestAddr stack(page_down(registers().gpr[RSP]));
  if (deliver(signal) != Delivery::fatal) return Next::go_on;
  // The frame may have had no room.
  if (handled && fatal_signal() == SIGSEGV) refuse_growth(*this, stack - 1, "a signal frame");
  end_process({Ending::Kind::signalled, fatal_signal()});
  return Next::ended;
}

Process::Next Process::system_call() {
  engine::Registers& regs = registers();
  SystemCall call = current_call();
  Next next = Next::go_on;
  outside_.reached_call(*this);
  if (seccomp_.active())
    if (std::optional<Next> refused = filter_call(call)) return *refused;
  bool changes_mask =
      call.number == SYS_rt_sigreturn || (call.number == SYS_rt_sigprocmask && call.arguments[1] != 0);
  if (changes_mask) hold_signals();
  if (current().pending) put_back(current(), call);
  // A signal that is here already comes before the call, which may be the one that blocks it.
  bool passes_on = call.number == SYS_exit && hold_back(current()) != 0;
  if (current().pending && !passes_on) {
    outside_.called(*this, call, kNotStarted);
    regs.rip -= 2;
    return next;
  }
  if (call.number == SYS_rt_sigreturn) {
    outside_.called(*this, call, 0);
    if (return_from_signal()) {
      current().returned_at = now();
      return Next::go_on;
    }
    PendingSignal bad_frame;
    bad_frame.number = SIGSEGV;
    bad_frame.info.si_signo = SIGSEGV;
    bad_frame.info.si_code = SI_KERNEL;
    return give(bad_frame);
  }
  int64_t result =
      facts_of(call.number).mask_arg != kNoArgument ? wait_with_mask(call, next) : dispatch(call, next);
  if (changes_mask && result != 0) set_mask(mask());
  if (next != Next::go_on) return next;
  if (result == -EFAULT && !is_memory_call(call.number))
    for (uint64_t argument : call.arguments)
      refuse_growth(*this, GuestAddr(argument), "a system call that accesses memory");
  if (result == kNotStarted) {
    // A signal comes first; afterwards the call is made again.
    regs.rip -= 2;
    return next;
  }
  regs.gpr[RAX] = static_cast<uint64_t>(result);
  if (std::optional<PendingSignal> fault = vsyscall_fault(call, result)) return give(*fault);
  return next;
}

// The mask with which a call waits, if it has one.
std::optional<uint64_t> Process::mask_of(const SystemCall& call) {
  uint64_t at = call.arguments[static_cast<size_t>(facts_of(call.number).mask_arg)];
  if (call.number == SYS_pselect6 && at != 0 && space().read(GuestAddr(at), &at, 8) != 8) return std::nullopt;
  uint64_t mask;
  if (at == 0 || space().read(GuestAddr(at), &mask, 8) != 8) return std::nullopt;
  return mask;
}

// A signal that ends such a call is delivered under the call's mask; it has been read by then, and other
// threads may have changed the memory where it was.
int64_t Process::wait_with_mask(const SystemCall& call, Next& next) {
  Thread& self = current();
  std::optional<uint64_t> mask = mask_of(call);
  self.mask_of_call = mask;
  int64_t result;
  if (mask && held_.any_of(~*mask)) {
    self.pending = true;
    result = -EINTR;
    outside_.called(*this, call, result);
  } else {
    result = dispatch(call, next);
  }
  self.mask_of_call.reset();
  if (mask && result == -EINTR && self.pending) wait_ended(*mask);
  return result;
}

int64_t Process::dispatch(SystemCall call, Next& next) {
  const SyscallArgs& a = call.arguments;
  const SyscallInfo* info = find_syscall(static_cast<uint64_t>(call.number));
  if (info == nullptr) {
    outside_.called(*this, call, -ENOSYS);
    return -ENOSYS;
  }
  CallShape shape = shape_of(*info, a);
  int64_t result;
  switch (call.number) {
  case SYS_exit:
    next = end_thread(call);
    return 0;
  case SYS_exit_group:
    outside_.called(*this, call, 0);
    registers().gpr[RAX] = 0; // as replay has it
    end_process({Ending::Kind::exited, static_cast<int>(a[0]) & 0xFF});
    next = Next::ended;
    return 0;
  case SYS_set_tid_address:
    current().clear_child_tid = GuestAddr(a[0]);
    result = current().id.value;
    break;
  case SYS_futex:
  case SYS_futex_waitv:
    return futex_call(call, shape);
  case SYS_gettid:
    if (!in_one_thread()) return outside_.call(*this, call, shape);
    result = current().id.value;
    break;
  case SYS_tgkill:
  case SYS_tkill:
    if (!in_one_thread()) return outside_.call(*this, call, shape);
    result = send_to_thread(call);
    break;
  case SYS_sched_yield:
    turn_end_ = engine().executed();
    result = 0;
    break;
  case SYS_clone:
    if (int error = check_clone(a); error != 0 || a[0] & CLONE_THREAD) {
      result = error != 0 ? error : start_thread(call);
      break;
    }
    [[fallthrough]];
  case SYS_fork:
  case SYS_vfork:
    return sys_clone(call);
  case SYS_rt_sigaction:
    if (shares_actions_ && a[1] != 0)
      limit("a process that shares its parent's signal actions and changes one (clone with CLONE_SIGHAND)");
    result = *internal_call(call);
    break;
  case SYS_execve:
  case SYS_execveat:
    result = sys_execve(call);
    break;
  default:
    if (std::optional<Answer> answer = hidden_host_.answer(*this, call))
      return outside_.answered(*this, call, *answer);
    if (std::optional<Answer> answer = affinity_.answer(*this, call))
      return outside_.answered(*this, call, *answer);
    if (std::optional<Answer> answer = seccomp_.answer(*this, call))
      return outside_.answered(*this, call, *answer);
    if (std::optional<int64_t> own = internal_call(call)) {
      // Requests that nobody knows are tried by some C libraries at every start.
      if (shape.call_class == CallClass::refused && shape.variant != nullptr) refusals_.tell_call(shape, a);
      result = *own;
    } else if (shape.call_class == CallClass::memory) {
      result = memory_call(call);
    } else {
      if (shape.call_class == CallClass::refused) {
        int error = error_of_refused(shape, a, space());
        if (error == shape.error) refusals_.tell_call(shape, a);
        shape.error = error;
      }
      return outside_.call(*this, call, shape);
    }
  }
  outside_.called(*this, call, result);
  return result;
}

int64_t Process::memory_call(const SystemCall& call) {
  if (hidden_host_.refuses_execution(space(), call)) return -EACCES;
  if (int error = limits_.check_memory_call(space(), call))
    return call.number == SYS_brk ? static_cast<int64_t>(space().brk_end()) : error;
  std::optional<int64_t> result = space().call(call.number, call.arguments);
  if (!result) bug("memory call {} is not known", call.number);
  if (vfork_parent_ && *result >= 0) vfork_parent_->note(call, *result, space());
  bool of_file = call.number == SYS_mmap && !(call.arguments[3] & MAP_ANONYMOUS);
  if (*result >= 0 && (of_file || call.number == SYS_shmat))
    outside_.mapped(*this, *space().find(static_cast<uint64_t>(*result)),
                    of_file ? static_cast<int>(call.arguments[4]) : -1);
  return *result;
}

void Process::tell_grown(const SystemCall& call, int64_t result) {
  if (vfork_parent_) vfork_parent_->note(call, result, space());
  tell_remapped(call, result);
}

std::optional<Process::Next> Process::filter_call(const SystemCall& call) {
  uint32_t verdict = seccomp_.judge(call, registers().rip);
  uint32_t data = verdict & SECCOMP_RET_DATA;
  engine::Registers& regs = registers();
  switch (verdict & SECCOMP_RET_ACTION_FULL) {
  case SECCOMP_RET_ALLOW:
  case SECCOMP_RET_LOG:
    return std::nullopt;
  case SECCOMP_RET_ERRNO: {
    int64_t result = -static_cast<int64_t>(std::min<uint32_t>(data, 4095));
    outside_.called(*this, call, result);
    regs.gpr[RAX] = static_cast<uint64_t>(result);
    return Next::go_on;
  }
  case SECCOMP_RET_TRACE: // there is no tracer
    outside_.called(*this, call, -ENOSYS);
    regs.gpr[RAX] = static_cast<uint64_t>(-ENOSYS);
    return Next::go_on;
  case SECCOMP_RET_TRAP: {
    // The call is rolled back: its number stays in rax.
    outside_.called(*this, call, call.number);
    PendingSignal signal;
    signal.number = SIGSYS;
    signal.info.si_signo = SIGSYS;
    signal.info.si_code = 1; // SYS_SECCOMP
    signal.info.si_errno = static_cast<int>(data);
    signal.info.si_call_addr = reinterpret_cast<void*>(regs.rip);
    signal.info.si_syscall = static_cast<int>(call.number);
    signal.info.si_arch = AUDIT_ARCH_X86_64;
    return give(signal);
  }
  default:
    outside_.called(*this, call, call.number);
    end_process({Ending::Kind::signalled, seccomp_.strict() ? SIGKILL : SIGSYS});
    return Next::ended;
  }
}

int64_t Outside::answered(Process& process, const SystemCall&, const Answer& answer) {
  return write_answer(process.space(), answer);
}

namespace {

// The file that the call may have cut off. False if it is no such call.
bool find_cut_off(const SystemCall& call, int64_t result, AddressSpace& space, struct stat& info) {
  const CallFacts& facts = facts_of(call.number);
  if (!facts.truncates) return false;
  if (facts.opens) return open_flags(call, space) & O_TRUNC && fstat(static_cast<int>(result), &info) == 0;
  if (facts.changed_fd_arg != kNoArgument)
    return fstat(static_cast<int>(call.arguments[static_cast<size_t>(facts.changed_fd_arg)]), &info) == 0;
  return stat(GuestAddr(call.arguments[static_cast<size_t>(facts.path_arg)]).ptr<const char>(), &info) == 0;
}

// The file may be mapped privately, and have been executed: what is cut off is not there any more.
void forget_cut_off_code(AddressSpace& space, const struct stat& info) {
  std::vector<Mapping> mapped;
  for (const auto& [begin, mapping] : space.mappings())
    if (mapping.inode == info.st_ino && mapping.device == info.st_dev) mapped.push_back(mapping);
  for (const Mapping& mapping : mapped)
    space.forget_code(mapping.begin, mapping.end);
}

} // namespace

int64_t Outside::call(Process& process, const SystemCall& call, const CallShape& shape) {
  if (shape.call_class == CallClass::refused) return -shape.error;
  int64_t result = process.kernel_call(shape, call.arguments);
  // A page that is read-only for the sake of translated code looks bad to the kernel.
  if (result == -EFAULT && process.space().release_all_code_pages())
    result = process.kernel_call(shape, call.arguments);
  struct stat cut_off;
  if (result >= 0 && find_cut_off(call, result, process.space(), cut_off))
    forget_cut_off_code(process.space(), cut_off);
  return result;
}

engine::FastSyscall Outside::make_fast_syscall(Process& process) {
  return make_plain_fast_syscall(process);
}

engine::Engine::InputResult Outside::instruction(Process& process, engine::InputInstruction) {
  return process.engine().execute_input();
}

void Process::on_mask(uint64_t mask) {
  if (!live_) return;
  Thread& self = current();
  if (held_.any_of(~mask)) self.pending = true;
  // While a received signal waits for its delivery, no other may take its place: neither one that came
  // before, nor one that comes just now.
  uint64_t real = mask & ~kSynchronousSignals;
  const int64_t arguments[6] = {SIG_SETMASK, reinterpret_cast<int64_t>(&real), 0, 8, 0, 0};
  interruptible_syscall(&self.pending, SYS_rt_sigprocmask, arguments);
}

void Process::hold_signals() {
  if (!live_) return;
  uint64_t all = ~kSynchronousSignals;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&all), 0, 8);
}

void Process::on_action(int signal) {
  if (!live_ || kSynchronousSignals >> (signal - 1) & 1 || signal == SIGKILL || signal == SIGSTOP) return;
  const SignalAction& a = action(signal);
  // One that ends the process is received too: how a process ended belongs to its recording.
  Disposition disposition = Disposition::received;
  if (a.handler == reinterpret_cast<uint64_t>(SIG_IGN))
    disposition = Disposition::ignored;
  else if (a.handler == reinterpret_cast<uint64_t>(SIG_DFL) && (!ends_by_default(signal) || is_init()))
    disposition = Disposition::standard; // the first process of a PID namespace is not ended by it
  set_disposition(signal, disposition, a.flags);
}

// The kernel walks the list when SIGKILL ends the process: rdb has no say then.
void Process::on_robust_list(GuestAddr head) {
  constexpr int64_t kHeadSize = 24;
  if (live_ && !in_one_thread())
    raw_syscall(SYS_set_robust_list, static_cast<int64_t>(head.value), kHeadSize);
}

void Process::on_asynchronous(int signal, siginfo_t* info, void* context) {
  Thread* receiver = in_one_thread() ? receiver_of(signal) : self_;
  if (receiver == nullptr) return; // the thread is on its way out
  Thread& thread = *receiver;
  if (CallAlarm::is_source_of(*info)) return; // the call has been ended, and that was all
  if (kSynchronousSignals >> (signal - 1) & 1) {
    bool standard = action(signal).handler == reinterpret_cast<uint64_t>(SIG_DFL);
    if (standard && is_init() && !scheduler_.is_over()) return; // it does not end this one, see on_action()
    held_.add(signal, *info);
    uint64_t mask = thread.mask_of_call.value_or(thread.mask);
    bool blocked = mask >> (signal - 1) & 1 && !scheduler_.is_over();
    if (blocked) return;
    thread.pending = true;
    if (scheduler_.is_running(thread)) engine().interrupt(context);
    return;
  }
  thread.received = {};
  thread.received.number = signal;
  thread.received.info = *info;
  thread.pending = true;
  // No other one until this is delivered.
  uint64_t blocked = ~kSynchronousSignals;
  std::memcpy(&static_cast<ucontext_t*>(context)->uc_sigmask, &blocked, 8);
  if (scheduler_.is_running(thread)) engine().interrupt(context);
}

namespace {

size_t slot_of(uint64_t bit) {
  return static_cast<size_t>(std::popcount(kSynchronousSignals & (bit - 1)));
}

} // namespace

void HeldSignals::add(int signal, const siginfo_t& info) {
  uint64_t bit = 1ull << (signal - 1);
  if (held_ & bit) return;
  PendingSignal& held = signals_[slot_of(bit)];
  held = {};
  held.number = signal;
  held.info = info;
  held_ |= bit;
}

std::optional<PendingSignal> HeldSignals::take(uint64_t open) {
  uint64_t ready = held_ & open;
  if (ready == 0) return std::nullopt;
  uint64_t bit = ready & -ready;
  PendingSignal result = signals_[slot_of(bit)];
  held_ &= ~bit;
  return result;
}

// A handler takes longer here than natively. Where a timer's interval is shorter than that, its next signal
// is there whenever the handler returns, and the program would get nowhere. So for a while after that it does
// not come, as if the timer had run out later; at the latest, it comes when the program's next call is over.
uint64_t Process::hold_back(const Thread& thread) {
  const siginfo_t& info = thread.received.info;
  bool of_timer = info.si_code == SI_TIMER ||
                  (info.si_code == SI_KERNEL &&
                   (info.si_signo == SIGALRM || info.si_signo == SIGVTALRM || info.si_signo == SIGPROF));
  if (thread.received.number == 0 || !of_timer || !thread.sent.empty() || held_.any_of(~thread.mask))
    return 0;
  uint64_t since = now() - thread.returned_at;
  return since < kHoldBack ? kHoldBack - since : 0;
}

// Likewise where the program comes to a call instead of instructions: the kernel has the signal again until
// the call is over.
void Process::put_back(Thread& self, const SystemCall& call) {
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
  if (held_.any_of(~self.mask)) self.pending = true;
}

void Process::let_in_again(Thread& self) {
  if (std::exchange(self.put_back, 0) != 0) on_mask(self.mask);
}

std::optional<PendingSignal> Process::take_pending(Thread& self) {
  // What comes from here on sets it again.
  self.pending = false;
  std::optional<PendingSignal> result = held_.take(~self.mask);
  if (!result && self.received.number != 0) {
    result = self.received;
    self.received.number = 0;
  }
  if (self.received.number != 0 || held_.any_of(~self.mask)) self.pending = true;
  return result;
}

void Process::on_fault(int signal, siginfo_t* info, void* context) {
  if (info->si_code <= 0) {
    // Not raised by an instruction, but sent by someone (kill, tgkill, sigqueue).
    on_asynchronous(signal, info, context);
    return;
  }
  if (engine().handle_signal(signal, info, context)) return;
  report_host_fault(signal, info, context, registers().rip, engine().executed());
}

} // namespace rdb::guest
