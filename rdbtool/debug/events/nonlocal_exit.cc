// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events/nonlocal_exit.h"

#include <bit>

namespace rdb::debug {

// glibc keeps the stack pointer in the jump buffer, made unreadable by a secret of the thread's and a
// rotation.
std::optional<AbandonedCalls> abandoned_calls(const StoppedThread& thread) {
  constexpr uint64_t kStackPointer = 48; // in the jump buffer
  constexpr uint64_t kSecret = 0x30;     // from the thread pointer
  constexpr int kRotation = 17;
  const engine::Registers& regs = thread.registers();
  std::optional<uint64_t> hidden = thread.word_at(regs.gpr[engine::RDI] + kStackPointer);
  std::optional<uint64_t> secret = thread.word_at(regs.fs_base + kSecret);
  if (!hidden || !secret) return std::nullopt;
  AbandonedCalls calls{thread.stack_pointer(), std::rotr(*hidden, kRotation) ^ *secret};
  if (calls.up_to < calls.above || thread.space.find(calls.above) != thread.space.find(calls.up_to))
    return std::nullopt;
  return calls;
}

bool has_just_returned(const StoppedThread& thread, uint64_t pc) {
  return thread.word_at(thread.stack_pointer() - sizeof pc) == pc;
}

} // namespace rdb::debug
