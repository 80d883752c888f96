// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/nested_call.h"

#include "rdbtool/base/error.h"
#include "rdbtool/debug/debug_session.h"
#include "rdbtool/debug/isolation/guarded_call.h"
#include "rdbtool/guest/memory/host_place.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>

namespace rdb::debug {
namespace {

using engine::RAX;
using engine::RSP;

constexpr uint64_t kStackSize = 8u << 20;
constexpr uint64_t kReturnAddress = guest::kNestedReturn;
constexpr engine::Gpr kArguments[6] = {engine::RDI, engine::RSI, engine::RDX,
                                       engine::RCX, engine::R8,  engine::R9};

} // namespace

void run_nested_call(CallFrame* frame, uint64_t target) {
  if (guest::is_host(target)) return run_watched_call(*frame, target);
  if (!can_abort_debug_code() || DebugSession::current()->nested_calls == nullptr)
    abort_debug_code("a function of the program was called before the program runs");
  if (target == 0)
    abort_debug_code(
        "debug code called a function that the program does not have, or an indirect one (ifunc)");
  DebugSession::current()->nested_calls->run(*frame, target);
}

NestedCalls::NestedCalls(DebugSession& session, guest::Machine& machine, WriteGuard& guard)
    : session_(session), machine_(machine), nested_(machine.space(), Logged::stores),
      engine_(nested_.translator()), log_(nested_.log()), guard_(guard), output_(session.libc),
      heap_(engine_, session.libc) {
  session.nested_calls = this;
  set_wide_vectors(engine::cpu().avx);
  // Memory of the host: the guest's own state is not changed by it, and what is written there is not undone.
  stack_ = reinterpret_cast<uint64_t>(reserve(kStackSize));
  mprotect(reinterpret_cast<void*>(stack_), guest::kPage, PROT_NONE);
  engine_.add_stop(GuestAddr(kReturnAddress));
}

NestedCalls::~NestedCalls() {
  session_.nested_calls = nullptr;
  munmap(reinterpret_cast<void*>(stack_), kStackSize);
}

bool NestedCalls::redirect(int signal, const siginfo_t* info, void* context) {
  auto* gregs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto pc = static_cast<uint64_t>(gregs[REG_RIP]);
  if (signal != SIGSEGV || reinterpret_cast<uint64_t>(info->si_addr) != pc || !can_abort_debug_code())
    return false;
  if (machine_.space().find(pc) == nullptr) return false;
  gregs[REG_R11] = static_cast<greg_t>(pc);
  gregs[REG_RIP] = reinterpret_cast<greg_t>(nested_call_stub());
  return true;
}

bool NestedCalls::interrupt(void* context) {
  if (!running_) return false;
  engine_.interrupt(context);
  return true;
}

void NestedCalls::begin_use() {
  used_ = true;
  before_ = log_.mark();
  running_ = false;
  watched_ = 0;
  guard_.begin();
  output_.begin();
  heap_.begin();
  stack_top_ = stack_ + kStackSize;
  engine::Registers& regs = engine_.registers();
  regs = {};
  regs.fs_base = machine_.registers().fs_base;
  regs.gs_base = machine_.registers().gs_base;
  engine_.state().mxcsr_guest = machine_.translator().state().mxcsr_guest;
  std::optional<uint64_t> errno_offset = session_.libc.errno_offset();
  errno_place_ = regs.fs_base + errno_offset.value_or(0);
  if (!errno_offset || !machine_.space().is_plain(errno_place_, sizeof(int))) errno_place_ = 0;
}

void NestedCalls::undo() {
  guard_.unprotect();
  output_.show_waiting();
  log_.undo_to(before_);
  used_ = false;
  running_ = false;
}

void NestedCalls::read_vectors(CallFrame& frame, size_t count) const {
  constexpr std::array<uint8_t, 16> kZero = {};
  frame.is_wide = false;
  for (size_t i = 0; i < count; ++i) {
    engine_.read_vector(i, reinterpret_cast<std::byte*>(frame.vector[i]));
    frame.is_wide |= std::memcmp(frame.vector[i] + kZero.size(), kZero.data(), kZero.size()) != 0;
  }
}

void NestedCalls::write_vectors(const CallFrame& frame, size_t count) {
  for (size_t i = 0; i < count; ++i)
    engine_.write_vector(i, reinterpret_cast<const std::byte*>(frame.vector[i]));
}

void NestedCalls::run(CallFrame& frame, uint64_t function) {
  engine::Registers& regs = engine_.registers();
  const int own_errno = errno;
  if (!used_) begin_use();
  guard_.unprotect();
  give_errno(own_errno);
  const engine::Registers saved = regs;
  const uint64_t saved_top = stack_top_;
  load_call(frame, function);
  run_until_returned();
  output_.show_waiting();
  frame.result[0] = regs.gpr[RAX];
  frame.result[1] = regs.gpr[engine::RDX];
  read_vectors(frame, 2);
  stack_top_ = saved_top;
  regs = saved;
  const int new_errno = take_errno(own_errno);
  if (watched_ > 0 || guard_.reports()) guard_.protect();
  errno = new_errno;
}

// The second engine's registers and stack are what they are at the first instruction of the function.
void NestedCalls::load_call(const CallFrame& frame, uint64_t function) {
  engine::Registers& regs = engine_.registers();
  for (int i = 0; i < 6; ++i)
    regs.gpr[kArguments[i]] = frame.integer[i];
  regs.gpr[RAX] = frame.vector_count;
  write_vectors(frame, 8);
  auto arguments = reinterpret_cast<uint64_t>(frame.stack_arguments);
  auto end = reinterpret_cast<uint64_t>(DebugSession::run.abort_point);
  uint64_t size = std::min(end - arguments, kMostArguments);
  // Aligned like the original.
  uint64_t sp = ((stack_top_ - size - 64) & ~63ull) + arguments % 64;
  std::memcpy(reinterpret_cast<void*>(sp), frame.stack_arguments, size);
  sp -= 8;
  std::memcpy(reinterpret_cast<void*>(sp), &kReturnAddress, 8);
  regs.gpr[RSP] = sp;
  regs.rip = function;
}

void NestedCalls::run_until_returned() {
  while (engine_.registers().rip != kReturnAddress) {
    if (!log_.has_room_for_slice()) abort_debug_code("a call into the program wrote more than can be undone");
    deal_with(run_slice());
  }
}

engine::Stop NestedCalls::run_slice() {
  engine::Stop stop;
  std::string failure;
  running_ = true;
  try {
    stop = engine_.run(kSlice);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  running_ = false;
  // Not in the handler, which must come to its end.
  if (!failure.empty()) abort_debug_code("a call into the program failed: " + failure);
  return stop;
}

void NestedCalls::deal_with(const engine::Stop& stop) {
  switch (stop.reason) {
  case engine::StopReason::limit:
    break;
  case engine::StopReason::address:
    if (std::optional<GuestHeap::Allocation> block = heap_.stopped()) log_.keep(block->begin, block->size);
    break;
  case engine::StopReason::interrupted:
    abort_debug_code("a call into the program did not return in time");
  case engine::StopReason::system_call:
    engine_.registers().gpr[RAX] = static_cast<uint64_t>(system_call());
    break;
  case engine::StopReason::input:
    engine_.finish_input(engine_.execute_input());
    break;
  default:
    if (is_callback(stop))
      call_out();
    else
      deal_with_fault(stop.fault);
  }
}

void NestedCalls::deal_with_fault(const engine::Fault& fault) {
  constexpr uint64_t kWrite = 2; // in the error code of a page fault
  const uint64_t pc = engine_.registers().rip;
  auto address = reinterpret_cast<uint64_t>(fault.info.si_addr);
  if (address - kReturnAddress < 16 && pc != kReturnAddress)
    abort_debug_code("an exception left a function of the program that debug code has called");
  if (fault.error_code & kWrite && machine_.space().release_code_page(GuestAddr(address))) return;
  abort_debug_code(fmt::format("a call into the program raised signal {} at {:#x} for address {}",
                               fault.signal, pc, fault.info.si_addr));
}

// Debug code and what it calls have one errno, as if they were one program.
void NestedCalls::give_errno(int value) {
  if (take_errno(value) != value) log_.store(errno_place_, &value, sizeof value);
}

int NestedCalls::take_errno(int otherwise) const {
  if (errno_place_ != 0) std::memcpy(&otherwise, reinterpret_cast<void*>(errno_place_), sizeof otherwise);
  return otherwise;
}

// Did the guest jump to code of the host?
bool NestedCalls::is_callback(const engine::Stop& stop) const {
  uint64_t pc = engine_.state().registers.rip;
  return stop.reason == engine::StopReason::fault && stop.fault.signal == SIGSEGV && guest::is_host(pc) &&
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
  frame.is_always_watched = true;
  read_vectors(frame, 8);
  uint64_t arguments = regs.gpr[RSP] + 8;
  frame.stack_arguments = reinterpret_cast<const uint64_t*>(arguments);
  // On a stack of its own the program may have less than that above.
  constexpr uint64_t kUsual = 96;
  bool on_stack = arguments >= stack_ && arguments <= stack_ + kStackSize;
  frame.stack_size =
      on_stack ? std::min<uint64_t>((stack_ + kStackSize - arguments) & ~15ull, kMostArguments) : kUsual;
  const engine::Registers saved = regs;
  const uint64_t saved_top = stack_top_;
  stack_top_ = (regs.gpr[RSP] - 256) & ~15ull; // nested calls of the callback go below
  output_.show_waiting();
  errno = take_errno(0);
  if (guard_.reports()) guard_.protect();
  std::string thrown;
  CapturedStack stack;
  try {
    call_watched(frame, function);
  } catch (...) {
    thrown = describe_exception("an exception left a callback of debug code");
    stack = stack_of_throw();
  }
  // The program's frames around it cannot be unwound.
  if (!thrown.empty()) abort_debug_code_from(stack, thrown);
  const int new_errno = errno;
  guard_.unprotect();
  give_errno(new_errno);
  stack_top_ = saved_top;
  regs = saved;
  regs.gpr[RAX] = frame.result[0];
  regs.gpr[engine::RDX] = frame.result[1];
  write_vectors(frame, 2);
  regs.gpr[RSP] += 8;
  regs.rip = back;
}

} // namespace rdb::debug
