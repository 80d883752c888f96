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

void After::expect(replay::Replayer& replayer, uint64_t pc) {
  engine::Path one;
  engine::find_basic(replayer.space(), {}, pc, 1, one);
  if (one.steps.empty()) return;
  const engine::Instruction& instruction = one.steps[0].instruction;
  const engine::Registers& regs = replayer.registers();
  if (!falls_through(instruction, regs)) return;
  bool is_call = instruction.kind == engine::Kind::call || instruction.kind == engine::Kind::call_indirect;
  auto [place, fresh] = waiting_.try_emplace(instruction.end());
  if (fresh) replayer.translator().add_hook(GuestAddr(instruction.end()));
  for (; is_call && jumps_hooked_ < jumps_.size(); ++jumps_hooked_)
    replayer.translator().add_hook(GuestAddr(jumps_[jumps_hooked_]));
  Waiting waiting{pc, replayer.thread(), regs.gpr[engine::RSP], is_call};
  // A plain instruction that did not get there (it faulted) is over now.
  if (!is_call)
    std::erase_if(place->second, [&](const Waiting& w) {
      return !w.is_call && w.instruction == pc && w.thread == waiting.thread;
    });
  place->second.push_back(waiting);
}

void After::arrive(replay::Replayer& replayer, uint64_t pc, std::vector<uint64_t>& out) {
  if (std::ranges::find(jumps_, pc) != jumps_.end())
    if (std::optional<CallsLeft> left = calls_left(replayer))
      for (auto& [address, waiting] : waiting_)
        std::erase_if(waiting, [&](const Waiting& w) {
          return w.is_call && w.thread == replayer.thread() && left->has(w.sp);
        });
  auto found = waiting_.find(pc);
  if (found == waiting_.end()) return;
  uint64_t sp = replayer.registers().gpr[engine::RSP];
  std::erase_if(found->second, [&](const Waiting& w) {
    if (w.thread != replayer.thread()) return false;
    if (w.is_call && w.sp > sp) return false;
    if (w.is_call && w.sp < sp) return true; // a frame that was left in another way
    if (!w.is_call || has_come_back(replayer, pc)) out.push_back(w.instruction);
    return true;
  });
}

} // namespace rdb::debug
