// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A hit of a region: its arguments are fetched, and it is called.
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/regions/regions.h"

#include <fmt/format.h>

namespace rdb::debug {

using descriptors::Class;

void Regions::hooked(replay::Replayer& replayer, GuestAddr pc) {
  twins_.hooked(replayer, pc.value);
  // What is after the last instruction comes before what is in front of the next.
  if (after_.waits()) arrive_after(replayer, pc.value);
  if (HookedAddress* hooked = hooked_by_pc_.find(pc.value)) arrive(replayer, *hooked, pc.value);
}

void Regions::arrive(replay::Replayer& replayer, HookedAddress& hooked, uint64_t pc) {
  // At a function's first instruction its CFA is rsp + 8.
  const uint64_t cfa = replayer.registers().gpr[engine::RSP] + 8;
  for (auto [attached, id] : hooked.activations)
    activations_.begin(attached->bundle(), id, cfa);
  for (RegionInstance& instance : hooked.before)
    call(replayer, instance);
  if (!hooked.after.empty()) after_.expect(stopped_thread(replayer), pc);
}

void Regions::arrive_after(replay::Replayer& replayer, uint64_t pc) {
  for (uint64_t instruction : after_.arrive(stopped_thread(replayer), pc))
    if (HookedAddress* hooked = hooked_by_pc_.find(instruction))
      for (RegionInstance& instance : hooked->after)
        call(replayer, instance);
}

void Regions::use_thread_locals(replay::Replayer& replayer) {
  if (const guest::Thread* thread = replayer.loaded())
    for (AttachedBundle& attached : bundles_)
      attached.bundle().use_thread(thread->order);
  for (AttachedBundle& attached : bundles_)
    if (attached.bundle().loaded()) attached.use_thread(replayer.space(), replayer.registers().fs_base);
}

void Regions::call(replay::Replayer& replayer, RegionInstance& instance) {
  RegionCount& count = *instance.count;
  const uint64_t now = replayer.now().value;
  if (!selection_.allows(count, now)) return;
  AttachedBundle& attached = *instance.attached;
  if (const guest::Thread* thread = replayer.loaded()) attached.bundle().use_thread(thread->order);
  attached.use_thread(replayer.space(), replayer.registers().fs_base);
  const ProgramThreadLocals& thread_locals = attached.thread_locals();
  if (!thread_locals.symbols().empty() && thread_locals.block() == 0)
    return skip(instance, now, "this thread has not used the library's variables yet");
  if (!instance.arguments.empty() && !find_arguments(replayer, instance, now)) return;
  runner_.run(count, reinterpret_cast<RegionRunner::DebugFunction>(instance.function), instance.values.data(),
              RegionRunner::Errno::of_thread);
}

// False if one of them cannot be had.
bool Regions::find_arguments(replay::Replayer& replayer, RegionInstance& instance, uint64_t now) {
  const AttachedBundle& attached = *instance.attached;
  ArgumentSource source{replayer.translator(), replayer.space(), attached.bundle().bias(),
                        attached.thread_locals().block()};
  buffer_.reset();
  std::string reason;
  for (size_t i = 0; i < instance.arguments.size(); ++i) {
    const descriptors::Argument* argument = instance.arguments[i];
    instance.values[i] = value_of(argument, source, instance, reason);
    if (instance.values[i] != nullptr) continue;
    skip(instance, now,
         fmt::format("{} is unavailable there ({})", argument != nullptr ? argument->name : "an argument",
                     reason));
    return false;
  }
  return true;
}

void* Regions::value_of(const descriptors::Argument* argument, const ArgumentSource& source,
                        const RegionInstance& instance, std::string& reason) {
  if (argument == nullptr) {
    reason = "not described";
    return nullptr;
  }
  if (argument->parts.size() != 1 || argument->parts[0].cls != Class::activation)
    return locate(*argument, source, buffer_, reason);
  const descriptors::Part& part = argument->parts[0];
  uint64_t cfa =
      general_register(source.engine.registers(), part.reg) + static_cast<uint64_t>(part.reg_offset);
  return activations_.find(instance.attached->bundle(), part.activation, cfa);
}

void Regions::skip(RegionInstance& instance, uint64_t now, const std::string& why) const {
  if (instance.count->skipped++ == 0 && selection_.reports_skipped())
    print_error("rdb: {}: not run at time {}: {}\n", instance.count->place, now, why);
}

bool Regions::host_fault(replay::Replayer&, int signal, siginfo_t* info, void* context) {
  return runner_.host_fault(signal, info, context);
}

void Regions::interrupted(replay::Replayer&, int signal, void* context) {
  if (signal == SIGALRM) runner_.tick(context);
  if (signal == SIGABRT) runner_.aborted(context);
}

} // namespace rdb::debug
