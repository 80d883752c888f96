// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs with the guest's FS base and vector registers: compiled for general registers only, without stack
// protector, and calling nothing that is not (see CMakeLists.txt).
#include "rdbtool/replay/answer_call_fast.h"

#include "rdbtool/guest/calls/call_output.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/syscalls/call_properties.h"

namespace rdb::replay {
namespace {

// Whether the guest makes this call. Of the bytes that one puts out, only those in a known buffer are
// compared here.
bool is_the_call(const FastAnswers& answers, const trace::SyscallInput& logged,
                 const engine::Registers& regs) {
  uint64_t hash = guest::hash_call(regs);
  if (!logged.checks_data) return hash == logged.hash;
  uint64_t address = regs.gpr[engine::RSI];
  auto size = static_cast<uint64_t>(logged.result);
  if (properties_of(logged.number).writes != DataForm::buffer || size > regs.gpr[engine::RDX] ||
      !answers.space->is_known_plain(address, size))
    return false;
  return guest::join_hashes(
             hash, guest::hash_plain_output(reinterpret_cast<const uint8_t*>(address), size)) == logged.hash;
}

bool answer(void* context, engine::Registers& regs, uint64_t executed) {
  FastAnswers& answers = *static_cast<FastAnswers*>(context);
  if (answers.empty()) return false;
  const trace::LoggedCall& logged = *answers.next;
  if (executed != logged.time.value || !is_the_call(answers, logged.call, regs)) return false;
  if (logged.write.size != 0) {
    if (!answers.space->is_known_plain(logged.write.address.value, logged.write.size)) return false;
    void* to = reinterpret_cast<void*>(logged.write.address.value);
    const void* from = logged.write.data;
    size_t size = logged.write.size;
    if (size == 16) {
      __builtin_memcpy(to, from, 16);
    } else {
      asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
    }
  }
  regs.gpr[engine::RAX] = static_cast<uint64_t>(logged.call.result);
  ++answers.next;
  return true;
}

} // namespace

bool can_answer_fast(const trace::SyscallInput& call) {
  return properties_of(call.number).fast != FastPath::no && call.output == trace::OutputStream::none &&
         call.result != guest::kNotStarted;
}

engine::FastSyscall make_fast_syscall(FastAnswers& answers) {
  return {&answer, &answers};
}

} // namespace rdb::replay
