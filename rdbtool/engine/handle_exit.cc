// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the host does when translated code has come back to it: a function for each kind of exit. Most of them
// only say where the guest goes on; a few carry out an instruction, or end run().
#include "rdbtool/base/error.h"
#include "rdbtool/engine/interrupt_bias.h"
#include "rdbtool/engine/translator.h"

#include <array>
#include <cpuid.h>
#include <utility>

namespace rdb::engine {
namespace {

// Those that xgetbv can read; the second came later.
bool has_control_register(uint64_t number) {
  constexpr uint32_t kSecond = 4;
  uint32_t a = 0, b, c, d;
  if (static_cast<uint32_t>(number) != 1) return static_cast<uint32_t>(number) == 0;
  return __get_cpuid_count(13, 1, &a, &b, &c, &d) && a & kSecond;
}

} // namespace

// In the order of ExitKind.
constexpr Translator::ExitHandler Translator::kExitHandlers[] = {
    &Translator::handle_direct,   // direct
    &Translator::handle_indirect, // indirect
    &Translator::handle_limit,    // limit
    &Translator::handle_limit,    // hot
    &Translator::handle_limit,    // limit_or_hot
    &Translator::handle_system_call, &Translator::handle_input,   &Translator::handle_emulated,
    &Translator::handle_invalid,     &Translator::handle_refused, &Translator::handle_watch,
    &Translator::handle_stop,        &Translator::handle_hook,    &Translator::handle_step,
    &Translator::handle_changed,
};

// Some exits enter translated code again at once; then there is another exit to take.
Translator::Next Translator::handle_exit(Stop& stop) {
  static_assert(std::size(kExitHandlers) == static_cast<size_t>(ExitKind::changed) + 1);
  for (;;) {
    uint32_t number = state_.exit_number;
    if (number == kExitHooked) return handle_left_hook();
    if (number == kExitFault) return handle_signal(stop);
    const Exit& exit = cache_.exit(number);
    count_to_exit(exit.owed);
    state_.registers.rip = exit.target;
    Next next = (this->*kExitHandlers[static_cast<size_t>(exit.kind)])(stop, exit);
    if (next != Next::entered) return next;
  }
}

// Adds what translated code has executed since it was entered.
void Translator::count_to_exit(int owed) {
  executed_ += static_cast<uint64_t>(budget_set_ - without_bias(state_.budget) + owed);
}

// A hook does not want the code after it to go on.
Translator::Next Translator::handle_left_hook() {
  if (hook_calls_.failure) std::rethrow_exception(std::exchange(hook_calls_.failure, nullptr));
  return Next::go_on;
}

// A signal handler has left translated code: see InterruptedCode.
Translator::Next Translator::handle_signal(Stop& stop) {
  count_to_exit(interrupted_code_.owed);
  const uint64_t pc = interrupted_code_.pc;
  state_.registers.rip = pc;
  switch (interrupted_code_.what) {
  case InterruptedCode::What::unfetched:
    cache_.kill(*interrupted_code_.block);
    return Next::go_on;
  case InterruptedCode::What::written:
    find_basic(memory_, stops_, pc, 1, path_);
    RDB_CHECK(!path_.steps.empty());
    state_.registers.rip = path_.steps[0].next;
    stop.reason = StopReason::written;
    stop.access = {GuestAddr(pc), 0, true};
    return Next::stop;
  case InterruptedCode::What::fault:
    stop.reason = StopReason::fault;
    stop.fault = interrupted_code_.fault;
    return Next::stop;
  }
  __builtin_unreachable();
}

Translator::Next Translator::handle_direct(Stop&, const Exit& exit) {
  next_entry_.link = exit.branch != 0 ? state_.exit_number : 0;
  return Next::go_on;
}

Translator::Next Translator::handle_indirect(Stop& stop, const Exit&) {
  if (!is_canonical(state_.indirect_target)) return bad_target(stop);
  state_.registers.rip = state_.indirect_target;
  next_entry_.publish_indirect = state_.exit_number == kExitIndirectMiss;
  ++statistics_.indirect_misses;
  return Next::go_on;
}

// The budget is used up, or a block has been executed so often that it becomes the head of a superblock.
Translator::Next Translator::handle_limit(Stop&, const Exit& exit) {
  bool hot = exit.kind == ExitKind::hot ||
             (exit.kind == ExitKind::limit_or_hot && !interrupted_ && without_bias(state_.budget) >= 0);
  if (hot && options_.superblocks) {
    hot_.set(exit.block->pc, this);
    cache_.unlink(*exit.block);
  }
  uint64_t remaining = run_target_ - executed_;
  if (interrupted_ || remaining <= 2 * kSlack) {
    // Also where the flags are good: a budget smaller than the block would bring it back here for ever.
    next_entry_.must_step = true;
    return Next::go_on;
  }
  enter(cache_.at(exit.resume), budget_for(remaining), -exit.owed);
  return Next::entered;
}

// Code that asks the filter has left, as the filter said "maybe".
Translator::Next Translator::handle_watch(Stop&, const Exit& exit) {
  if (exit.access_size != 0 &&
      !watches_.wants(state_.watched_address, exit.access_size, exit.reads, exit.writes)) {
    enter(cache_.at(exit.resume), without_bias(state_.budget) - exit.owed, -exit.owed);
    return Next::entered;
  }
  next_entry_.must_check = true;
  return Next::go_on;
}

// advance() finds the stop.
Translator::Next Translator::handle_stop(Stop&, const Exit&) {
  return Next::go_on;
}

Translator::Next Translator::handle_hook(Stop&, const Exit&) {
  bug("a hook was left for the host");
}

Translator::Next Translator::handle_step(Stop&, const Exit&) {
  next_entry_.must_step = true;
  return Next::go_on;
}

Translator::Next Translator::handle_changed(Stop&, const Exit& exit) {
  cache_.kill(*exit.block);
  return Next::go_on;
}

Translator::Next Translator::handle_system_call(Stop& stop, const Exit&) {
  if (std::exchange(fast_syscall_done_, false)) return Next::go_on;
  note_call(state_.registers);
  stop.reason = StopReason::system_call;
  return Next::stop;
}

Translator::Next Translator::handle_input(Stop& stop, const Exit& exit) {
  const Instruction& instruction = *exit.instruction;
  if (instruction.input == InputInstruction::xgetbv && !has_control_register(state_.registers.gpr[RCX]))
    return raise(stop, SIGSEGV, SI_KERNEL, 0, kProtectionFault, 0);
  current_input_ = instruction;
  stop.reason = StopReason::input;
  stop.input = instruction.input;
  return Next::stop;
}

Translator::Next Translator::handle_emulated(Stop& stop, const Exit& exit) {
  if (options_.log_stores) log_accesses_of(*exit.instruction);
  return emulate(stop, *exit.instruction);
}

Translator::Next Translator::handle_invalid(Stop& stop, const Exit& exit) {
  constexpr uint64_t kInvalidOpcode = 6;
  if (exit.instruction->opcode == kProtectionFault)
    return raise(stop, SIGSEGV, SI_KERNEL, 0, kProtectionFault, 0);
  return raise(stop, SIGILL, ILL_ILLOPN, exit.target, kInvalidOpcode, 0);
}

Translator::Next Translator::handle_refused(Stop&, const Exit& exit) {
  limit("instruction {} at {:#x} ({})", exit.instruction->refusal, exit.target,
        disassemble(*exit.instruction));
}

} // namespace rdb::engine
