// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/after_instruction.h"

#include "rdbtool/debug/events/nonlocal_exit.h"
#include "rdbtool/engine/translate/code_path.h"

#include <algorithm>

namespace rdb::debug {
namespace {

constexpr uint64_t kCarry = 1, kParity = 4, kZero = 0x40, kSign = 0x80, kOverflow = 0x800;

bool condition_holds(uint8_t code, uint64_t flags) {
  bool carry = flags & kCarry, zero = flags & kZero, less = !(flags & kSign) != !(flags & kOverflow);
  bool holds = false;
  switch (code >> 1) {
  case 0:
    holds = flags & kOverflow;
    break;
  case 1:
    holds = carry;
    break;
  case 2:
    holds = zero;
    break;
  case 3:
    holds = carry || zero;
    break;
  case 4:
    holds = flags & kSign;
    break;
  case 5:
    holds = flags & kParity;
    break;
  case 6:
    holds = less;
    break;
  default:
    holds = zero || less;
  }
  return holds != ((code & 1) != 0);
}

// Is a branch on rcx taken? 0xE0 loopne, 0xE1 loope, 0xE2 loop, 0xE3 jrcxz.
bool loop_goes_on(const engine::Instruction& instruction, const engine::Registers& regs) {
  uint64_t mask = instruction.address32 ? UINT32_MAX : UINT64_MAX;
  uint64_t count = regs.gpr[engine::RCX] & mask;
  if (instruction.opcode == 0xE3) return count == 0;
  bool more = ((count - 1) & mask) != 0;
  bool zero = regs.rflags & kZero;
  if (instruction.opcode == 0xE0) return more && !zero;
  if (instruction.opcode == 0xE1) return more && zero;
  return more;
}

bool falls_through(const engine::Instruction& instruction, const engine::Registers& regs) {
  switch (instruction.kind) {
  case engine::Kind::branch:
    return !condition_holds(instruction.condition, regs.rflags);
  case engine::Kind::loop:
    return !loop_goes_on(instruction, regs);
  case engine::Kind::jump:
  case engine::Kind::jump_indirect:
  case engine::Kind::ret:
    return false;
  default:
    return true;
  }
}

} // namespace

void AfterInstruction::expect(const StoppedThread& thread, uint64_t pc) {
  engine::Path one;
  engine::find_basic(thread.space, {}, pc, 1, one);
  if (one.steps.empty()) return;
  const engine::Instruction& instruction = one.steps[0].instruction;
  if (!falls_through(instruction, thread.registers())) return;
  bool is_call = instruction.kind == engine::Kind::call || instruction.kind == engine::Kind::call_indirect;
  auto [place, fresh] = waiting_.try_emplace(instruction.end());
  if (fresh) thread.engine.add_hook(GuestAddr(instruction.end()));
  for (; is_call && exits_hooked_ < nonlocal_exits_.size(); ++exits_hooked_)
    thread.engine.add_hook(GuestAddr(nonlocal_exits_[exits_hooked_]));
  // A plain instruction that did not get there (it faulted) is over now.
  if (!is_call)
    std::erase_if(place->second, [&](const AwaitedEnd& w) {
      return !w.is_call && w.instruction == pc && w.thread == thread.id;
    });
  place->second.push_back({pc, thread.id, thread.stack_pointer(), is_call});
}

void AfterInstruction::forget_abandoned_calls(const StoppedThread& thread) {
  std::optional<AbandonedCalls> calls = abandoned_calls(thread);
  if (!calls) return;
  for (auto& [address, waiting] : waiting_)
    std::erase_if(
        waiting, [&](const AwaitedEnd& w) { return w.is_call && w.thread == thread.id && calls->has(w.sp); });
}

std::vector<uint64_t> AfterInstruction::arrive(const StoppedThread& thread, uint64_t pc) {
  std::vector<uint64_t> over;
  if (std::ranges::find(nonlocal_exits_, pc) != nonlocal_exits_.end()) forget_abandoned_calls(thread);
  auto found = waiting_.find(pc);
  if (found == waiting_.end()) return over;
  const uint64_t sp = thread.stack_pointer();
  std::erase_if(found->second, [&](const AwaitedEnd& w) {
    if (w.thread != thread.id) return false;
    if (w.is_call && w.sp > sp) return false;
    if (w.is_call && w.sp < sp) return true; // its frame was abandoned
    if (!w.is_call || has_just_returned(thread, pc)) over.push_back(w.instruction);
    return true;
  });
  return over;
}

} // namespace rdb::debug
