// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs with the guest's FS base and vector registers: compiled for general registers only, without stack
// protector, and calling nothing that is not (see CMakeLists.txt).
#include "rdbtool/record/fast_syscall.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/hash.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/calls/call_output.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/syscalls/call_properties.h"

#include <sys/syscall.h>

namespace rdb::record {
namespace {

bool perform(void* context, engine::Registers& regs, uint64_t executed) {
  FastRecorder& recorder = *static_cast<FastRecorder*>(context);
  guest::Machine& machine = *recorder.machine;
  // A guest's filter judges every call.
  if (!recorder.enabled || executed >= recorder.until || recorder.filters->active()) return false;
  uint64_t number = regs.gpr[engine::RAX];
  const CallProperties& properties = properties_of(static_cast<int64_t>(number));
  if (properties.fast != FastPath::always) return false;
  const int64_t arguments[6] = {
      static_cast<int64_t>(regs.gpr[engine::RDI]), static_cast<int64_t>(regs.gpr[engine::RSI]),
      static_cast<int64_t>(regs.gpr[engine::RDX]), static_cast<int64_t>(regs.gpr[engine::R10]),
      static_cast<int64_t>(regs.gpr[engine::R8]),  static_cast<int64_t>(regs.gpr[engine::R9])};
  // The host's descriptors do not exist for the guest: the complete path says so.
  if (properties.on_descriptor && regs.gpr[engine::RDI] >= guest::kNeverOwn) return false;

  trace::SyscallInput input;
  input.number = static_cast<uint32_t>(number);
  input.hash = guest::hash_call(regs);
  if (properties.writes != DataForm::none) {
    auto fd = static_cast<uint64_t>(arguments[0]);
    if (fd >= Descriptors::kRemembered) return false;
    const Descriptors::Facts& file = (*recorder.descriptors)[fd];
    if (!file.known || file.mapped || recorder.log->may_be_mapped(file.file_bit)) return false;
    input.output = file.stream;
  }
  bool has_buffer = properties.buffer_arg != kNoArgument;
  auto address = has_buffer ? static_cast<uint64_t>(arguments[properties.buffer_arg]) : 0;
  uint64_t room = properties.buffer_size != 0 ? properties.buffer_size
                                              : static_cast<uint64_t>(arguments[properties.room_arg]);
  if (has_buffer && !machine.space().is_known_plain(address, room)) return false;

  input.result =
      guest::interruptible_syscall(&machine.current().pending, static_cast<int64_t>(number), arguments);
  if (input.result == guest::kNotStarted) return false;
  MemoryWrite write{GuestAddr(address), reinterpret_cast<const uint8_t*>(address), 0};
  if (has_buffer && input.result >= 0)
    write.size = properties.buffer_size != 0 ? properties.buffer_size : static_cast<size_t>(input.result);
  // While it was out, others may have changed a file that is mapped: what it has read is not there any more.
  bool disturbed = recorder.log->is_disturbed();
  if (disturbed) machine.engine().stop_after_fast_call();
  if (properties.writes == DataForm::buffer && input.result > 0 && !disturbed) {
    uint32_t data = guest::hash_plain_output(reinterpret_cast<const uint8_t*>(arguments[1]),
                                             static_cast<uint64_t>(input.result));
    input.checks_data = true;
    input.hash = guest::join_hashes(input.hash, data);
  }
  // The parent knows why an append fails and says it; this process has nothing more to do.
  if (!recorder.log->append(machine.current().id, Time(executed), input, &write, write.size != 0 ? 1 : 0))
    raw_syscall(SYS_exit_group, kExitFailure);
  // It may have slept until there was room, and others go by that.
  if (recorder.log->is_disturbed()) machine.engine().stop_after_fast_call();
  regs.gpr[engine::RAX] = static_cast<uint64_t>(input.result);
  return true;
}

} // namespace

engine::FastSyscall make_fast_syscall(FastRecorder& recorder) {
  return {&perform, &recorder};
}

} // namespace rdb::record
