// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/nested_call.h"

#include "rdbtool/base/error.h"
#include "rdbtool/debug/refusal.h"
#include "rdbtool/engine/operand.h"
#include "rdbtool/engine/path.h"
#include "rdbtool/guest/space_view.h"
#include "rdbtool/guest/syscalls/describe.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

extern "C" {
void rdb_nested_stub();
uint64_t rdb_nested_target;
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
    mov rdb_nested_target(%rip), %rsi
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
    mov 0(%rbx), %rdi
    call *%r11
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

constexpr uint64_t kStackSize = 1u << 20;
constexpr uint64_t kStackArguments = 32; // words copied for arguments beyond the registers
// Where a nested call returns to: no code is ever there.
constexpr uint64_t kReturnAddress = guest::kLowEnd - 0x10;
constexpr uint64_t kLongestCall = 200'000'000; // instructions

constexpr engine::Gpr kArguments[6] = {engine::RDI, engine::RSI, engine::RDX,
                                       engine::RCX, engine::R8,  engine::R9};

// The one that runs; debug functions do not run concurrently.
NestedCalls* g_current = nullptr;

void vectors_to_guest(engine::Engine& engine, const uint8_t (*vector)[16]) {
  std::vector<std::byte> image(engine.vector_size());
  engine.read_vectors(image);
  std::memcpy(image.data() + 160, vector, 8 * 16);
  uint64_t used;
  std::memcpy(&used, image.data() + 512, 8);
  used |= 2;
  std::memcpy(image.data() + 512, &used, 8);
  engine.write_vectors(image);
}

void vectors_from_guest(engine::Engine& engine, uint8_t (*vector)[16], size_t count) {
  std::vector<std::byte> image(engine.vector_size());
  engine.read_vectors(image);
  std::memcpy(vector, image.data() + 160, count * 16);
}

} // namespace

void run_nested_call(CallFrame* frame, uint64_t target) {
  g_current->run(*frame, target);
}

bool NestedCalls::redirect(int signal, const siginfo_t* info, void* context) {
  auto* gregs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto pc = static_cast<uint64_t>(gregs[REG_RIP]);
  if (signal != SIGSEGV || reinterpret_cast<uint64_t>(info->si_addr) != pc || !can_escape()) return false;
  if (replayer_.space().find(pc) == nullptr) return false;
  rdb_nested_target = pc;
  gregs[REG_RIP] = reinterpret_cast<greg_t>(rdb_nested_stub);
  return true;
}

void NestedCalls::begin_region() {
  g_current = this;
  used_ = false;
}

void NestedCalls::end_region() {
  if (!used_) return;
  for (size_t i = log_.size(); i-- > 0;)
    replayer_.space().write(GuestAddr(log_[i].address), bytes_.data() + log_[i].offset, log_[i].size);
  for (auto [begin, size] : mapped_)
    replayer_.space().munmap(begin, size);
  log_.clear();
  bytes_.clear();
  mapped_.clear();
  replayer_.registers() = registers_;
  replayer_.engine().write_vectors(vectors_);
  replayer_.translator().set_executed(executed_);
  // The stack of nested calls is not part of the guest.
  replayer_.space().munmap(stack_, kStackSize);
  used_ = false;
}

void NestedCalls::run(CallFrame& frame, uint64_t function) {
  engine::Engine& engine = replayer_.engine();
  engine::Registers& regs = replayer_.registers();
  if (!used_) {
    used_ = true;
    registers_ = regs;
    executed_ = engine.executed();
    vectors_.resize(engine.vector_size());
    engine.read_vectors(vectors_);
    int64_t place =
        replayer_.space().mmap(0, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place < 0) give_up("no memory for the stack of a call into the program");
    stack_ = static_cast<uint64_t>(place);
    stack_top_ = stack_ + kStackSize - 4096;
  }
  engine::Registers saved = regs;
  uint64_t saved_top = stack_top_;
  for (int i = 0; i < 6; ++i)
    regs.gpr[kArguments[i]] = frame.integer[i];
  regs.gpr[RAX] = frame.vector_count;
  vectors_to_guest(engine, frame.vector);
  uint64_t sp = (stack_top_ - kStackArguments * 8) & ~15ull;
  std::memcpy(reinterpret_cast<void*>(sp), frame.stack_arguments, kStackArguments * 8);
  sp -= 8;
  std::memcpy(reinterpret_cast<void*>(sp), &kReturnAddress, 8);
  regs.gpr[RSP] = sp;
  regs.rip = function;
  uint64_t end = engine.executed() + kLongestCall;
  while (regs.rip != kReturnAddress) {
    if (engine.executed() > end) give_up("a call into the program did not return");
    step(kReturnAddress);
  }
  frame.result[0] = regs.gpr[RAX];
  frame.result[1] = regs.gpr[engine::RDX];
  vectors_from_guest(engine, frame.vector, 2);
  stack_top_ = saved_top;
  regs = saved;
}

// Keeps what is about to be overwritten, unless it is the nested call's own stack.
void NestedCalls::keep(uint64_t address, uint64_t size) {
  if (address >= stack_ && address + size <= stack_ + kStackSize) return;
  if (!replayer_.space().in_guest_range(address, address + size)) return; // the debug code's own memory
  size_t offset = bytes_.size();
  bytes_.resize(offset + size);
  size_t n = replayer_.space().read(GuestAddr(address), bytes_.data() + offset, size);
  bytes_.resize(offset + n);
  if (n > 0) log_.push_back({address, static_cast<uint32_t>(n), static_cast<uint32_t>(offset)});
}

void NestedCalls::step(uint64_t) {
  engine::Engine& engine = replayer_.engine();
  engine::Registers& regs = replayer_.registers();
  if (replayer_.space().find(regs.rip) == nullptr) {
    call_out();
    return;
  }
  engine::Path one;
  engine::find_basic(replayer_.space(), {}, regs.rip, 1, one);
  if (!one.steps.empty()) {
    const engine::Instruction& instruction = one.steps[0].instruction;
    for (const engine::MemoryAccess& access : engine::memory_accesses(instruction, regs))
      if (access.write) keep(access.address, access.size);
    // The extended state's size is not in its operand.
    if (instruction.kind == engine::Kind::emulated && instruction.memory)
      keep(engine::operand_address(instruction, regs), engine.vector_size());
  }
  engine::Stop stop = engine.run(1);
  switch (stop.reason) {
  case engine::StopReason::limit:
  case engine::StopReason::address:
    return;
  case engine::StopReason::system_call:
    regs.gpr[RAX] = static_cast<uint64_t>(system_call());
    return;
  case engine::StopReason::input:
    engine.finish_input(engine.execute_input());
    return;
  default:
    give_up(fmt::format("a call into the program raised signal {} at {:#x} for address {}", stop.fault.signal,
                        regs.rip, stop.fault.info.si_addr));
  }
}

// The guest has called a function of the debug code: a callback. Its return address is on the guest's stack.
void NestedCalls::call_out() {
  engine::Registers& regs = replayer_.registers();
  uint64_t function = regs.rip;
  uint64_t back;
  if (replayer_.space().read(GuestAddr(regs.gpr[RSP]), &back, 8) != 8)
    give_up(fmt::format("a call into the program went to {:#x}, where there is no code", function));
  CallFrame frame{};
  for (int i = 0; i < 6; ++i)
    frame.integer[i] = regs.gpr[kArguments[i]];
  frame.vector_count = regs.gpr[RAX] & 0xFF;
  vectors_from_guest(replayer_.engine(), frame.vector, 8);
  engine::Registers saved = regs;
  stack_top_ = (regs.gpr[RSP] - 256) & ~15ull; // nested calls of the callback go below
  rdb_call_host(&frame, function);
  regs = saved;
  regs.gpr[RAX] = frame.result[0];
  regs.gpr[engine::RDX] = frame.result[1];
  vectors_to_guest(replayer_.engine(), frame.vector);
  regs.gpr[RSP] += 8;
  regs.rip = back;
}

int64_t NestedCalls::system_call() {
  guest::SystemCall call = replayer_.current_call();
  const SyscallArgs& a = call.arguments;
  guest::AddressSpace& space = replayer_.space();
  switch (call.number) {
  case SYS_write:
  case SYS_writev:
    if (a[0] != 1 && a[0] != 2) break;
    if (call.number == SYS_write) {
      std::vector<char> bytes(a[2]);
      size_t n = space.read(GuestAddr(a[1]), bytes.data(), bytes.size());
      if (replayer_.sink() != nullptr)
        replayer_.sink()->output(a[0] == 1 ? trace::OutputStream::kStdout : trace::OutputStream::kStderr,
                                 bytes.data(), n);
      return static_cast<int64_t>(n);
    } else {
      int64_t total = 0;
      for (uint64_t i = 0; i < a[2]; ++i) {
        iovec vector;
        if (space.read(GuestAddr(a[1] + i * sizeof vector), &vector, sizeof vector) != sizeof vector)
          return -EFAULT;
        std::vector<char> bytes(vector.iov_len);
        size_t n =
            space.read(GuestAddr(reinterpret_cast<uint64_t>(vector.iov_base)), bytes.data(), bytes.size());
        if (replayer_.sink() != nullptr)
          replayer_.sink()->output(a[0] == 1 ? trace::OutputStream::kStdout : trace::OutputStream::kStderr,
                                   bytes.data(), n);
        total += static_cast<int64_t>(n);
      }
      return total;
    }
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
