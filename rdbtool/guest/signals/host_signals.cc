// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled without stack protector: a handler starts with the guest's FS base.
#include "rdbtool/guest/signals/host_signals.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// The range between the test of `pending` and the syscall instruction; a handler that finds the program there
// moves it to the end.
extern "C" {
int64_t rdb_interruptible_syscall(const volatile bool* pending, int64_t number, const int64_t* arguments);
extern const char rdb_syscall_window_begin[];
extern const char rdb_syscall_window_end[];
extern const char rdb_syscall_not_started[];
// The number of bytes that were not copied; a handler that finds the program at the copying instruction lets
// it go on after it.
size_t rdb_copy_until_fault(void* to, const void* from, size_t size);
extern const char rdb_copying[];
extern const char rdb_copied[];
}

asm(R"(
    .text
    .globl rdb_interruptible_syscall
    .type rdb_interruptible_syscall, @function
rdb_interruptible_syscall:
    mov %rdi, %rcx
    mov %rsi, %rax
    mov %rdx, %r11
    mov 0(%r11), %rdi
    mov 8(%r11), %rsi
    mov 16(%r11), %rdx
    mov 24(%r11), %r10
    mov 32(%r11), %r8
    mov 40(%r11), %r9
    .globl rdb_syscall_window_begin
rdb_syscall_window_begin:
    cmpb $0, (%rcx)
    jne rdb_syscall_not_started
    .globl rdb_syscall_window_end
rdb_syscall_window_end:
    syscall
    ret
    .globl rdb_syscall_not_started
rdb_syscall_not_started:
    mov $-4096, %rax
    ret
    .size rdb_interruptible_syscall, .-rdb_interruptible_syscall

    .globl rdb_copy_until_fault
    .type rdb_copy_until_fault, @function
rdb_copy_until_fault:
    mov %rdx, %rcx
    .globl rdb_copying
rdb_copying:
    rep movsb
    .globl rdb_copied
rdb_copied:
    mov %rcx, %rax
    ret
    .size rdb_copy_until_fault, .-rdb_copy_until_fault
)");

namespace rdb::guest {
namespace {

constexpr size_t kSignalStack = 256 * 1024;

engine::Translator* g_translator = nullptr;
SignalReceiver* g_receiver = nullptr;
const engine::State* g_state = nullptr;
// Debug code may have broken the heap, and with it what an engine knows: its state lies elsewhere.
struct NestedEngine {
  engine::Translator* engine = nullptr;
  const engine::State* state = nullptr;
};
std::array<NestedEngine, 4> g_nested;

struct KernelAction {
  uint64_t handler; // a function, SIG_DFL or SIG_IGN
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};

extern "C" void rdb_sigreturn();
asm(R"(
    .text
    .globl rdb_sigreturn
rdb_sigreturn:
    mov $15, %eax
    syscall
)");

// Whether the interrupted code is a fast call: the running thread's only. Another thread may be waiting in
// host code meanwhile, on a stack of its own.
inline bool in_fast_call(uint64_t sp) {
  constexpr uint64_t kDeepest = 256 * 1024;
  if (g_state->in_fast_call == engine::kInFastHook) return true; // a replay has no other threads
  return g_state->in_fast_call != 0 && g_state->host_rsp - sp < kDeepest;
}

// The nested engine whose code this address is.
inline engine::Translator* nested_at(uint64_t pc) {
  for (const NestedEngine& nested : g_nested)
    if (nested.engine != nullptr && nested.engine->owns(pc)) return nested.engine;
  return nullptr;
}

inline bool in_nested_fast_call() {
  return std::any_of(g_nested.begin(), g_nested.end(), [](const NestedEngine& nested) {
    return nested.state != nullptr && nested.state->in_fast_call != 0; // they run in one thread
  });
}

// Runs `body` with the host's FS base, whatever the interrupted code had.
template <class Body>
inline void in_host(void* context, Body body) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto pc = static_cast<uint64_t>(registers[REG_RIP]);
  uint64_t fs;
  asm volatile("rdfsbase %0" : "=r"(fs));
  bool in_cache = g_translator->owns(pc) || in_fast_call(static_cast<uint64_t>(registers[REG_RSP])) ||
                  in_nested_fast_call() || nested_at(pc) != nullptr;
  if (in_cache) asm volatile("wrfsbase %0" : : "r"(g_state->host_fs));
  body();
  if (in_cache) asm volatile("wrfsbase %0" : : "r"(fs));
}

// A call that has not been entered yet is not: the signal comes first.
inline void leave_syscall_window(void* context) {
  auto& pc = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  if (pc >= reinterpret_cast<greg_t>(rdb_syscall_window_begin) &&
      pc <= reinterpret_cast<greg_t>(rdb_syscall_window_end))
    pc = reinterpret_cast<greg_t>(rdb_syscall_not_started);
}

// True if a copy was interrupted by what it has read: it ends there.
inline bool end_copy(int signal, const siginfo_t* info, void* context) {
  auto& pc = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  bool by_access = (signal == SIGSEGV || signal == SIGBUS) && info->si_code > 0;
  if (!by_access || pc != reinterpret_cast<greg_t>(rdb_copying)) return false;
  pc = reinterpret_cast<greg_t>(rdb_copied);
  return true;
}

// What an instruction in a nested engine's code has raised is that engine's affair, whoever runs it. But a
// breakpoint of the CPU is not: it does not look who writes.
bool is_of_nested_engine(int signal, siginfo_t* info, void* context) {
  constexpr int kTrapPerf = 6; // TRAP_PERF
  if (info->si_code <= 0 || signal == SIGSYS || (signal == SIGTRAP && info->si_code == kTrapPerf))
    return false;
  const auto pc = static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  engine::Translator* engine = nested_at(pc);
  return engine != nullptr && engine->handle_signal(signal, info, context);
}

void fault_handler(int signal, siginfo_t* info, void* context) {
  if (end_copy(signal, info, context)) return;
  in_host(context, [&] {
    if (!is_of_nested_engine(signal, info, context)) g_receiver->on_fault(signal, info, context);
  });
  if (info->si_code <= 0) leave_syscall_window(context); // sent by someone
}

void asynchronous_handler(int signal, siginfo_t* info, void* context) {
  in_host(context, [&] { g_receiver->on_asynchronous(signal, info, context); });
  leave_syscall_window(context);
}

void set_action(int signal, uint64_t handler, uint64_t flags, uint64_t mask) {
  KernelAction action{handler, flags | 0x04000000 /* SA_RESTORER */, rdb_sigreturn, mask};
  int64_t result = raw_syscall(SYS_rt_sigaction, signal, reinterpret_cast<int64_t>(&action), 0, 8);
  if (result < 0) bug("cannot set the action of signal {}", signal);
}

} // namespace

SignalStack::SignalStack()
    : memory_(mmap(nullptr, kSignalStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  RDB_CHECK(memory_ != MAP_FAILED);
  stack_t stack{};
  stack.ss_sp = memory_;
  stack.ss_size = kSignalStack;
  RDB_CHECK(sigaltstack(&stack, nullptr) == 0);
}

SignalStack::~SignalStack() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(memory_, kSignalStack);
}

void install_host_signals(engine::Translator& translator, SignalReceiver& receiver) {
  g_translator = &translator;
  g_receiver = &receiver;
  g_state = &translator.state();
  static const SignalStack stack; // of the first OS thread, for as long as the process lives
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS})
    set_action(signal, reinterpret_cast<uint64_t>(fault_handler), SA_SIGINFO | SA_ONSTACK, ~0ull);
}

void add_host_signals(engine::Translator& translator) {
  auto* place = std::find_if(g_nested.begin(), g_nested.end(),
                             [](const NestedEngine& nested) { return nested.engine == nullptr; });
  RDB_CHECK(place != g_nested.end());
  *place = {&translator, &translator.state()};
}

void remove_host_signals(const engine::Translator& translator) {
  for (NestedEngine& nested : g_nested)
    if (nested.engine == &translator) nested = {};
}

void set_disposition(int signal, Disposition disposition, uint64_t guest_flags) {
  switch (disposition) {
  case Disposition::standard:
    set_action(signal, reinterpret_cast<uint64_t>(SIG_DFL), guest_flags & SA_NOCLDWAIT, 0);
    return;
  case Disposition::ignored:
    set_action(signal, reinterpret_cast<uint64_t>(SIG_IGN), guest_flags & SA_NOCLDWAIT, 0);
    return;
  case Disposition::received: {
    uint64_t kept = guest_flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT);
    set_action(signal, reinterpret_cast<uint64_t>(asynchronous_handler), kept | SA_SIGINFO | SA_ONSTACK,
               ~kSynchronousSignals);
    return;
  }
  }
}

void set_restart_after_alarm(bool restart) {
  uint64_t flags = SA_SIGINFO | SA_ONSTACK | (restart ? SA_RESTART : 0);
  set_action(SIGSYS, reinterpret_cast<uint64_t>(fault_handler), flags, ~0ull);
}

void report_host_fault(int signal, const siginfo_t* info, const void* context, uint64_t guest_pc,
                       uint64_t executed) {
  const auto* gregs = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  char text[256];
  int length =
      std::snprintf(text, sizeof text,
                    "rdb: internal error, please report it: signal %d at host address %#llx (data %p), "
                    "guest pc %#llx, after %llu guest instructions\n",
                    signal, static_cast<unsigned long long>(gregs[REG_RIP]), info->si_addr,
                    static_cast<unsigned long long>(guest_pc), static_cast<unsigned long long>(executed));
  raw_syscall(SYS_write, 2, reinterpret_cast<int64_t>(text), length);
  raw_syscall(SYS_exit_group, kExitFailure);
  __builtin_unreachable();
}

int64_t interruptible_syscall(const volatile bool* pending, int64_t number, const int64_t arguments[6]) {
  return rdb_interruptible_syscall(pending, number, arguments);
}

size_t copy_until_fault(void* to, const void* from, size_t size) {
  return size - rdb_copy_until_fault(to, from, size);
}

} // namespace rdb::guest
