// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs with the guest's FS base and vector registers: compiled for general registers only, without stack
// protector, and calling nothing that is not (see CMakeLists.txt).
#include "rdbtool/record/quick_call.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/hash.h"
#include "rdbtool/guest/host_descriptors.h"
#include "rdbtool/guest/host_signals.h"
#include "rdbtool/guest/raw_syscall.h"
#include "rdbtool/guest/state_hash.h"

#include <sys/syscall.h>

namespace rdb::record {
namespace {

// What memory a call writes.
enum class Output : uint8_t {
  unknown, // not a call for the quick way
  none,
  none_to_descriptor, // its bytes go to the descriptor in the first argument
  result,             // as many bytes as the result says
  fixed,              // `size` bytes if it succeeds
};

struct Rule {
  Output output = Output::unknown;
  uint8_t argument = 0; // of the output
  uint8_t size = 0;
  uint8_t count_argument = 0; // result: how many bytes there is room for
};

constexpr Rule rule_of(uint64_t number) {
  switch (number) {
  case SYS_read:
  case SYS_pread64:
    return {.output = Output::result, .argument = 1, .count_argument = 2};
  case SYS_write:
  case SYS_pwrite64:
    return {.output = Output::none_to_descriptor};
  case SYS_lseek:
    return {.output = Output::none};
  case SYS_clock_gettime:
    return {.output = Output::fixed, .argument = 1, .size = 16};
  case SYS_fstat:
    return {.output = Output::fixed, .argument = 1, .size = 144};
  default:
    return {};
  }
}

bool perform(void* context, engine::Registers& regs, uint64_t executed) {
  QuickRecorder& recorder = *static_cast<QuickRecorder*>(context);
  guest::Process& process = *recorder.process;
  // A guest's filter judges every call.
  if (!recorder.enabled || executed >= recorder.until || process.seccomp().active()) return false;
  uint64_t number = regs.gpr[engine::RAX];
  Rule rule = rule_of(number);
  if (rule.output == Output::unknown) return false;
  const int64_t arguments[6] = {
      static_cast<int64_t>(regs.gpr[engine::RDI]), static_cast<int64_t>(regs.gpr[engine::RSI]),
      static_cast<int64_t>(regs.gpr[engine::RDX]), static_cast<int64_t>(regs.gpr[engine::R10]),
      static_cast<int64_t>(regs.gpr[engine::R8]),  static_cast<int64_t>(regs.gpr[engine::R9])};
  // The host's descriptors do not exist for the guest: the long way says so.
  if (number != SYS_clock_gettime && regs.gpr[engine::RDI] >= guest::kNeverOwn) return false;
  auto address = static_cast<uint64_t>(arguments[rule.argument]);

  trace::SyscallInput input;
  input.number = static_cast<uint32_t>(number);
  input.hash = guest::hash_call(regs);
  switch (rule.output) {
  case Output::none_to_descriptor: {
    auto fd = static_cast<uint64_t>(arguments[0]);
    if (fd >= Descriptors::kRemembered) return false;
    const Descriptors::Facts& facts = (*recorder.descriptors)[fd];
    if (!facts.known || facts.mapped) return false;
    input.output = facts.stream;
    break;
  }
  case Output::result:
    if (!process.space().is_known_plain(address, static_cast<uint64_t>(arguments[rule.count_argument])))
      return false;
    break;
  case Output::fixed:
    if (!process.space().is_known_plain(address, rule.size)) return false;
    break;
  case Output::none:
  case Output::unknown:
    break;
  }

  input.result =
      guest::interruptible_syscall(&process.current().pending, static_cast<int64_t>(number), arguments);
  if (input.result == guest::kNotStarted) return false;
  trace::MemoryWrite write{GuestAddr(address), reinterpret_cast<const uint8_t*>(address), 0};
  if (rule.output == Output::result && input.result > 0)
    write.size = static_cast<size_t>(input.result);
  else if (rule.output == Output::fixed && input.result >= 0)
    write.size = rule.size;
  // The parent knows why an append fails and says it; this process has nothing more to do.
  if (!recorder.log->append(process.current().id, Time(executed), input, &write, write.size != 0 ? 1 : 0))
    guest::raw_syscall(SYS_exit_group, kExitFailure);
  regs.gpr[engine::RAX] = static_cast<uint64_t>(input.result);
  return true;
}

} // namespace

engine::QuickCall quick_call(QuickRecorder& recorder) {
  return {&perform, &recorder};
}

} // namespace rdb::record
