// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events/nonlocal_exit.h"

#include <bit>

namespace rdb::debug {

// glibc keeps the stack pointer in the buffer, made unreadable by a number of the thread's and a rotation.
std::optional<CallsLeft> calls_left(replay::Replayer& replayer) {
  constexpr uint64_t kStackPointer = 48, kNumber = 0x30;
  constexpr int kRotation = 17;
  const engine::Registers& regs = replayer.registers();
  guest::AddressSpace& space = replayer.space();
  uint64_t hidden = 0, number = 0;
  if (space.read(GuestAddr(regs.gpr[engine::RDI] + kStackPointer), &hidden, sizeof hidden) != sizeof hidden ||
      space.read(GuestAddr(regs.fs_base + kNumber), &number, sizeof number) != sizeof number)
    return std::nullopt;
  CallsLeft left{regs.gpr[engine::RSP], std::rotr(hidden, kRotation) ^ number};
  if (left.up_to < left.above || space.find(left.above) != space.find(left.up_to)) return std::nullopt;
  return left;
}

bool has_come_back(replay::Replayer& replayer, uint64_t pc) {
  uint64_t back = 0;
  GuestAddr slot(replayer.registers().gpr[engine::RSP] - sizeof back);
  return replayer.space().read(slot, &back, sizeof back) == sizeof back && back == pc;
}

} // namespace rdb::debug
