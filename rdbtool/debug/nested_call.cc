// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/nested_call.h"

#include "rdbtool/base/error.h"
#include "rdbtool/debug/refusal.h"
#include "rdbtool/guest/output_of_call.h"
#include "rdbtool/guest/space_view.h"
#include "rdbtool/guest/syscalls/describe.h"

#include <cerrno>
#include <cstring>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

extern "C" {
void rdb_nested_stub();
void rdb_nested_call(rdb::debug::CallFrame* frame, uint64_t target);
// Calls a host function with a guest's argument registers; the results go back into the frame.
void rdb_call_host(rdb::debug::CallFrame* frame, uint64_t function);
}

asm(R"(
    .text
    .globl rdb_nested_stub
    .type rdb_nested_stub, @function
rdb_nested_stub:
    push %rbp
    mov %rsp, %rbp
    sub $224, %rsp
    and $-16, %rsp
    mov %rdi, 0(%rsp)
    mov %rsi, 8(%rsp)
    mov %rdx, 16(%rsp)
    mov %rcx, 24(%rsp)
    mov %r8, 32(%rsp)
    mov %r9, 40(%rsp)
    movzbl %al, %eax
    mov %rax, 48(%rsp)
    movups %xmm0, 80(%rsp)
    movups %xmm1, 96(%rsp)
    movups %xmm2, 112(%rsp)
    movups %xmm3, 128(%rsp)
    movups %xmm4, 144(%rsp)
    movups %xmm5, 160(%rsp)
    movups %xmm6, 176(%rsp)
    movups %xmm7, 192(%rsp)
    lea 16(%rbp), %rax
    mov %rax, 208(%rsp)
    mov %rsp, %rdi
    mov %r11, %rsi
    call rdb_nested_call
    mov 56(%rsp), %rax
    mov 64(%rsp), %rdx
    movups 80(%rsp), %xmm0
    movups 96(%rsp), %xmm1
    mov %rbp, %rsp
    pop %rbp
    ret
    .size rdb_nested_stub, .-rdb_nested_stub

    .globl rdb_call_host
    .type rdb_call_host, @function
rdb_call_host:
    push %rbx
    mov %rdi, %rbx
    mov %rsi, %r11
    mov 8(%rbx), %rsi
    mov 16(%rbx), %rdx
    mov 24(%rbx), %rcx
    mov 32(%rbx), %r8
    mov 40(%rbx), %r9
    mov 48(%rbx), %rax
    movups 80(%rbx), %xmm0
    movups 96(%rbx), %xmm1
    movups 112(%rbx), %xmm2
    movups 128(%rbx), %xmm3
    movups 144(%rbx), %xmm4
    movups 160(%rbx), %xmm5
    movups 176(%rbx), %xmm6
    movups 192(%rbx), %xmm7
    mov 208(%rbx), %rdi
    sub $128, %rsp
    movups 0(%rdi), %xmm8
    movups %xmm8, 0(%rsp)
    movups 16(%rdi), %xmm8
    movups %xmm8, 16(%rsp)
    movups 32(%rdi), %xmm8
    movups %xmm8, 32(%rsp)
    movups 48(%rdi), %xmm8
    movups %xmm8, 48(%rsp)
    movups 64(%rdi), %xmm8
    movups %xmm8, 64(%rsp)
    movups 80(%rdi), %xmm8
    movups %xmm8, 80(%rsp)
    mov 0(%rbx), %rdi
    call *%r11
    add $128, %rsp
    mov %rax, 56(%rbx)
    mov %rdx, 64(%rbx)
    movups %xmm0, 80(%rbx)
    movups %xmm1, 96(%rbx)
    pop %rbx
    ret
    .size rdb_call_host, .-rdb_call_host
)");

namespace rdb::debug {
namespace {

using engine::RAX;
using engine::RSP;

static_assert(offsetof(CallFrame, result) == 56 && offsetof(CallFrame, vector) == 80 &&
              offsetof(CallFrame, stack_arguments) == 208);

constexpr uint64_t kStackSize = 8u << 20;
constexpr uint64_t kStackArguments = 32; // words copied for arguments beyond the registers
// Where a nested call returns to: no code is ever there.
constexpr uint64_t kReturnAddress = guest::kLowEnd - 0x10;
// The second engine's memory, above the guest's low range and around the table of the first.
constexpr uint64_t kCachePlace = guest::kLowEnd;
constexpr size_t kCacheSize = 14u << 20;
constexpr uint64_t kTablePlace = guest::kTablePlace + (1u << 20);
// Instructions between looks at the log; each may write this many entries.
constexpr uint64_t kSlice = 1u << 18;
constexpr size_t kEntriesAnInstruction = 8;
constexpr size_t kLogEntries = 40u << 20;
constexpr size_t kLogKept = 1u << 20; // bytes of it that stay in memory

constexpr engine::Gpr kArguments[6] = {engine::RDI, engine::RSI, engine::RDX,
                                       engine::RCX, engine::R8,  engine::R9};

engine::TranslatorOptions engine_options() {
  engine::TranslatorOptions options;
  options.cache_place = kCachePlace;
  options.cache_size = kCacheSize;
  options.table_place = kTablePlace;
  options.traces = false;
  options.log_stores = true;
  return options;
}

void* reserve(size_t size) {
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) limit("no memory for calls into the program ({})", std::strerror(errno));
  return memory;
}

} // namespace

void* nested_call_stub() {
  return reinterpret_cast<void*>(rdb_nested_stub);
}

void run_nested_call(CallFrame* frame, uint64_t target) {
  if (NestedCalls::current_ == nullptr)
    give_up("a function of the program was called before the program runs");
  NestedCalls::current_->run(*frame, target);
}

NestedCalls::NestedCalls(replay::Replayer& replayer)
    : replayer_(replayer), engine_(replayer.space(), engine_options()) {
  // Memory of the host: the guest's own state is not changed by it, and what is written there is not undone.
  stack_ = reinterpret_cast<uint64_t>(reserve(kStackSize));
  mprotect(reinterpret_cast<void*>(stack_), guest::kPage, PROT_NONE);
  log_ = {static_cast<engine::StoreLogEntry*>(reserve(kLogEntries * sizeof(engine::StoreLogEntry))),
          kLogEntries};
  engine_.set_store_log(log_);
  engine_.add_stop(GuestAddr(kReturnAddress));
  replayer.space().on_code_change(
      [this](GuestAddr begin, uint64_t size) { engine_.invalidate(begin, size); });
  guest::add_host_signals(engine_);
}

NestedCalls::~NestedCalls() {
  munmap(reinterpret_cast<void*>(stack_), kStackSize);
  munmap(log_.data(), log_.size_bytes());
}

bool NestedCalls::redirect(int signal, const siginfo_t* info, void* context) {
  auto* gregs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto pc = static_cast<uint64_t>(gregs[REG_RIP]);
  if (signal != SIGSEGV || reinterpret_cast<uint64_t>(info->si_addr) != pc || !can_escape()) return false;
  if (replayer_.space().find(pc) == nullptr) return false;
  gregs[REG_R11] = static_cast<greg_t>(pc);
  gregs[REG_RIP] = reinterpret_cast<greg_t>(rdb_nested_stub);
  return true;
}

bool NestedCalls::interrupt(void* context) {
  if (!running_) return false;
  engine_.interrupt(context);
  return true;
}

void NestedCalls::begin_use() {
  used_ = true;
  running_ = false;
  stack_top_ = stack_ + kStackSize;
  engine::Registers& regs = engine_.registers();
  regs = {};
  regs.fs_base = replayer_.registers().fs_base;
  regs.gs_base = replayer_.registers().gs_base;
  engine_.state().mxcsr_guest = replayer_.translator().state().mxcsr_guest;
}

void NestedCalls::undo_to(size_t mark) {
  if (!used_) return;
  engine::StoreLogEntry* const begin = log_.data() + mark;
  bool has_code_pages = replayer_.space().has_code_pages();
  for (engine::StoreLogEntry* entry = engine_.store_log_end() - undone_; entry-- > begin; ++undone_) {
    // The debug code's own memory, and the stack of nested calls.
    if (entry->address >= guest::kHighEnd) continue;
    if (has_code_pages)
      replayer_.space().write(GuestAddr(entry->address), &entry->old, entry->size);
    else
      std::memcpy(reinterpret_cast<void*>(entry->address), &entry->old, entry->size);
  }
}

void NestedCalls::undo() {
  undo_to(0);
  for (auto [begin, size] : mapped_)
    replayer_.space().munmap(begin, size);
  mapped_.clear();
  size_t used = static_cast<size_t>(engine_.store_log_end() - log_.data()) * sizeof(engine::StoreLogEntry);
  if (used > kLogKept) madvise(log_.data(), used, MADV_DONTNEED);
  engine_.set_store_log(log_);
  used_ = false;
  running_ = false;
  undone_ = 0;
}

void NestedCalls::run(CallFrame& frame, uint64_t function) {
  engine::Registers& regs = engine_.registers();
  if (!used_) begin_use();
  if (guard_ != nullptr) guard_->pause();
  const engine::Registers saved = regs;
  const uint64_t saved_top = stack_top_;
  for (int i = 0; i < 6; ++i)
    regs.gpr[kArguments[i]] = frame.integer[i];
  regs.gpr[RAX] = frame.vector_count;
  engine_.write_low_vectors(frame.vector, 8);
  uint64_t sp = (stack_top_ - kStackArguments * 8) & ~15ull;
  std::memcpy(reinterpret_cast<void*>(sp), frame.stack_arguments, kStackArguments * 8);
  sp -= 8;
  std::memcpy(reinterpret_cast<void*>(sp), &kReturnAddress, 8);
  regs.gpr[RSP] = sp;
  regs.rip = function;
  while (regs.rip != kReturnAddress) {
    auto room = static_cast<size_t>(log_.data() + log_.size() - engine_.store_log_end());
    if (room < (kSlice + 1024) * kEntriesAnInstruction)
      give_up("a call into the program wrote more than can be undone");
    engine::Stop stop;
    std::string failure;
    running_ = true;
    try {
      stop = engine_.run(kSlice);
    } catch (const std::exception& error) {
      failure = error.what();
    }
    running_ = false;
    if (!failure.empty()) give_up("a call into the program failed: " + failure);
    switch (stop.reason) {
    case engine::StopReason::limit:
    case engine::StopReason::address:
      break;
    case engine::StopReason::interrupted:
      give_up("a call into the program did not return in time");
    case engine::StopReason::system_call:
      regs.gpr[RAX] = static_cast<uint64_t>(system_call());
      break;
    case engine::StopReason::input:
      engine_.finish_input(engine_.execute_input());
      break;
    default:
      if (is_callback(stop))
        call_out();
      else if (!(stop.fault.error_code & 2) || !replayer_.space().release_code_page(GuestAddr(
                                                   reinterpret_cast<uint64_t>(stop.fault.info.si_addr))))
        give_up(fmt::format("a call into the program raised signal {} at {:#x} for address {}",
                            stop.fault.signal, regs.rip, stop.fault.info.si_addr));
    }
  }
  frame.result[0] = regs.gpr[RAX];
  frame.result[1] = regs.gpr[engine::RDX];
  engine_.read_low_vectors(frame.vector, 2);
  stack_top_ = saved_top;
  regs = saved;
  if (guard_ != nullptr) guard_->resume();
}

// Did the guest jump to code of the host?
bool NestedCalls::is_callback(const engine::Stop& stop) const {
  uint64_t pc = engine_.state().registers.rip;
  return stop.reason == engine::StopReason::fault && stop.fault.signal == SIGSEGV && pc >= guest::kHighEnd &&
         pc == reinterpret_cast<uint64_t>(stop.fault.info.si_addr);
}

// The guest has called a function of the debug code: a callback. Its return address is on the guest's stack.
void NestedCalls::call_out() {
  engine::Registers& regs = engine_.registers();
  uint64_t function = regs.rip;
  uint64_t back;
  std::memcpy(&back, reinterpret_cast<void*>(regs.gpr[RSP]), 8);
  CallFrame frame{};
  for (int i = 0; i < 6; ++i)
    frame.integer[i] = regs.gpr[kArguments[i]];
  frame.vector_count = regs.gpr[RAX] & 0xFF;
  engine_.read_low_vectors(frame.vector, 8);
  frame.stack_arguments = reinterpret_cast<const uint64_t*>(regs.gpr[RSP] + 8);
  const engine::Registers saved = regs;
  const uint64_t saved_top = stack_top_;
  stack_top_ = (regs.gpr[RSP] - 256) & ~15ull; // nested calls of the callback go below
  if (guard_ != nullptr) guard_->resume();
  rdb_call_host(&frame, function);
  if (guard_ != nullptr) guard_->pause();
  stack_top_ = saved_top;
  regs = saved;
  regs.gpr[RAX] = frame.result[0];
  regs.gpr[engine::RDX] = frame.result[1];
  engine_.write_low_vectors(frame.vector, 2);
  regs.gpr[RSP] += 8;
  regs.rip = back;
}

int64_t NestedCalls::system_call() {
  guest::SystemCall call = guest::call_in(engine_.registers());
  const SyscallArgs& a = call.arguments;
  guest::AddressSpace& space = replayer_.space();
  switch (call.number) {
  case SYS_write:
  case SYS_writev:
    if (a[0] != 1 && a[0] != 2) break;
    return guest::show_output(space, call, UINT64_MAX, [&](const void* bytes, size_t size) {
      if (replayer_.sink() != nullptr)
        replayer_.sink()->output(a[0] == 1 ? trace::OutputStream::kStdout : trace::OutputStream::kStderr,
                                 bytes, size);
    });
  case SYS_brk:
    // The heap cannot grow: malloc falls back to mmap.
    return -ENOMEM;
  case SYS_mmap: {
    if (!(a[3] & MAP_ANONYMOUS) || a[3] & MAP_FIXED) break;
    int64_t place = space.mmap(0, a[1], static_cast<int>(a[2]), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place > 0) mapped_.emplace_back(static_cast<uint64_t>(place), a[1]);
    return place;
  }
  case SYS_munmap:
    for (auto [begin, size] : mapped_)
      if (begin == a[0] && size == a[1]) return 0; // gone when the region ends
    break;
  case SYS_rt_sigprocmask:
    return 0;
  case SYS_futex:
    if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) return 0; // nobody else runs meanwhile
    if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT || (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
      give_up(
          fmt::format("a call into the program waits for a lock at {:#x} that another thread holds", a[0]));
    break;
  default:
    break;
  }
  give_up(fmt::format(
      "a call into the program made a system call that debug code must not make: {}",
      describe_call(static_cast<uint64_t>(call.number), a, std::nullopt, guest::SpaceView(space))));
}

} // namespace rdb::debug

void rdb_nested_call(rdb::debug::CallFrame* frame, uint64_t target) {
  rdb::debug::run_nested_call(frame, target);
}
