// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Answers a system call from the log. The guest stands at the call; its number and registers must be those
// that were recorded. Nothing is asked of the kernel: the bytes that the call wrote and its result come from
// the log. What the call changed inside rdb (mappings, signal masks, handlers) is done once more, and must
// have the same result. Calls that touch nothing but registers and memory are mostly answered before they
// come here, by answer_call_fast.cc.
#include "rdbtool/base/error.h"
#include "rdbtool/guest/calls/call_output.h"
#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/replay/replayer.h"
#include "rdbtool/syscalls/call_properties.h"
#include "rdbtool/syscalls/describe.h"

#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::replay {

void Replayer::answer_call(const trace::Input& input) {
  const auto& logged = input.as<trace::SyscallInput>();
  engine::Registers& regs = registers();
  guest::SystemCall call = current_call();
  guest::SpaceView view(space());
  if (!current().at_call) differ(fmt::format("system call {}", logged.number), "none");
  if (static_cast<uint32_t>(call.number) != logged.number)
    differ(fmt::format("system call {}", logged.number),
           describe_call(static_cast<uint64_t>(call.number), call.arguments, std::nullopt, view));
  check_registers(logged, call);
  current().at_call = false;
  if (logged.result == guest::kNotStarted) {
    regs.rip -= 2;
    return;
  }
  if (call.number == SYS_rt_sigreturn) {
    return_from_handler();
    return;
  }
  write_all(input.writes);
  if (logged.checks_data) check_data(logged, call);
  const SyscallInfo* info = find_syscall(logged.number);
  if (std::optional<int64_t> own = internal_call(call)) {
    if (*own != logged.result) differ(fmt::format("result {}", logged.result), fmt::format("{}", *own));
  } else if (info != nullptr && info->call_class == CallClass::memory) {
    repeat_memory_call(call, logged.result);
  }
  if (logged.output != trace::OutputStream::none && sink_ != nullptr) show_output(logged);
  regs.gpr[engine::RAX] = static_cast<uint64_t>(logged.result);
  vsyscall_fault(call, logged.result); // its signal is the next input
  if (logged.result == 0) begin_child(call);
  current().waited_with_mask = logged.result == -EINTR && properties_of(call.number).mask_arg != kNoArgument;
}

void Replayer::check_registers(const trace::SyscallInput& logged, const guest::SystemCall& call) {
  uint64_t found = guest::hash_call(registers());
  uint64_t expected = logged.hash;
  if (logged.checks_data) {
    found = static_cast<uint32_t>(found);
    expected = static_cast<uint32_t>(expected);
  }
  if (found != expected)
    differ(fmt::format("registers with the hash {:016x} at {}", expected,
                       describe_call(logged.number, call.arguments, std::nullopt, guest::SpaceView(space()))),
           fmt::format("{:016x}", found));
}

// What the call takes out of memory must be what it took when recorded.
void Replayer::check_data(const trace::SyscallInput& logged, const guest::SystemCall& call) {
  auto expected = static_cast<uint32_t>(logged.hash >> 32);
  std::optional<uint32_t> found = guest::hash_output(space(), call, logged.result);
  if (found == expected) return;
  differ(fmt::format("bytes with the hash {:08x} in memory that {} = {} reads", expected,
                     describe_call(logged.number, call.arguments, std::nullopt, guest::SpaceView(space())),
                     logged.result),
         found ? fmt::format("{:08x}", *found) : "memory that cannot be read");
}

// One that has failed has changed nothing, or what it changed is an input of its own.
void Replayer::repeat_memory_call(const guest::SystemCall& call, int64_t logged) {
  const SyscallArgs& arguments = call.arguments;
  auto repeat = [&] {
    std::optional<int64_t> result = space().call(call.number, arguments);
    if (result && *result != logged)
      differ(fmt::format("result {:#x}", logged), fmt::format("{:#x}", *result));
  };
  switch (properties_of(call.number).mapping) {
  case MappingChange::advise:
    // Other advice changes nothing that the guest sees.
    if (guest::concerns_forks(static_cast<int>(arguments[2])))
      repeat();
    else if (logged >= 0 && guest::drops_pages(static_cast<int>(arguments[2])))
      space().repeat_drop(arguments[0], arguments[1]);
    return;
  case MappingChange::move:
    if (logged >= 0)
      space().repeat_mremap(arguments[0], arguments[1], arguments[2], static_cast<int>(arguments[3]),
                            static_cast<uint64_t>(logged));
    return;
  case MappingChange::map:
    // What had a file was mapped by the input before this one.
    if (logged >= 0 && arguments[3] & MAP_ANONYMOUS) {
      guest::Mapping mapping;
      mapping.begin = static_cast<uint64_t>(logged);
      mapping.end = guest::page_up(mapping.begin + arguments[1]);
      mapping.protection = static_cast<int>(arguments[2]) & (PROT_READ | PROT_WRITE | PROT_EXEC);
      mapping.flags = guest::kept_flags(static_cast<int>(arguments[3]));
      if (!space().in_guest_range(mapping.begin, mapping.end))
        differ("memory of the guest's", fmt::format("{:#x}", mapping.begin));
      space().restore(mapping, -1);
    }
    return;
  case MappingChange::attach: // the segment was mapped likewise
    return;
  default:
    if (logged >= 0) repeat();
  }
}

void Replayer::show_output(const trace::SyscallInput& input) {
  if (input.result <= 0) return;
  guest::show_output(space(), current_call(), static_cast<uint64_t>(input.result),
                     [&](const void* bytes, size_t size) { sink_->output(input.output, bytes, size); });
}

} // namespace rdb::replay
