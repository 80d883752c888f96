// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each kind of input does to the process when its time has come.
#include "rdbtool/base/error.h"
#include "rdbtool/base/log.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/replay/partial_string_instruction.h"
#include "rdbtool/replay/replayer.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace rdb::replay {
namespace {

// Whether a program outside the recording may have had it mapped, too, and have written to it.
bool may_be_written_outside(const guest::Mapping& mapping) {
  if (!(mapping.flags & MAP_SHARED) || mapping.flags & MAP_ANONYMOUS) return false;
  return mapping.segment || mapping.protection & PROT_WRITE || mapping.name.starts_with("/dev/shm/") ||
         mapping.name.starts_with("/memfd:");
}

} // namespace

void Replayer::apply(const trace::Input& input) {
  log_line(Topic::replay, "time {}, thread {}: applies a {}", now().value, thread_.value,
           trace::name_of(input.kind()));
  switch (input.kind()) {
  case trace::InputKind::start:
    start(input.as<trace::StartInput>());
    write_all(input.writes);
    return;
  case trace::InputKind::syscall:
    answer_call(input);
    return;
  case trace::InputKind::signal:
    signal(input.as<trace::SignalInput>());
    return;
  case trace::InputKind::partial:
    partial(input);
    return;
  case trace::InputKind::instruction:
    instruction(input.as<trace::InstructionInput>());
    return;
  case trace::InputKind::memory:
    change_all(input.writes);
    return;
  case trace::InputKind::map:
    map(input.as<trace::MapInput>());
    return;
  case trace::InputKind::checksum: {
    const auto& expected = input.as<trace::ChecksumInput>();
    guest::StateHash found = guest::hash_state(*this);
    if (found.memory != expected.memory || found.registers != expected.registers)
      differ(fmt::format("state {:016x}/{:016x} ({} pages)", expected.memory, expected.registers,
                         expected.pages),
             fmt::format("{:016x}/{:016x} ({} pages)", found.memory, found.registers, found.pages));
    return;
  }
  case trace::InputKind::output: {
    const auto& output = input.as<trace::OutputInput>();
    if (sink_ != nullptr) sink_->output(output.stream, output.bytes.data(), output.bytes.size());
    return;
  }
  case trace::InputKind::thread_start:
    start_thread(input.as<trace::ThreadStartInput>());
    return;
  case trace::InputKind::thread_end:
    remove_thread(current());
    return;
  case trace::InputKind::exit: {
    const auto& exit = input.as<trace::ExitInput>();
    ending_ = {exit.by_signal ? guest::Ending::Kind::signalled : guest::Ending::Kind::exited, exit.status};
    for (Observer* observer : observers_)
      observer->ended(*this);
    return;
  }
  }
}

void Replayer::start(const trace::StartInput& start) {
  if (start.origin == trace::ProcessOrigin::forked) {
    set_identity({identity().program, start.pid});
    return;
  }
  engine::Registers& regs = registers();
  regs = {};
  std::memcpy(regs.gpr, start.registers.gpr, sizeof regs.gpr);
  regs.rip = start.registers.rip;
  regs.rflags = start.registers.rflags;
  guest::reset_vectors(engine());
  space().set_brk(start.brk.value);
  set_mask(start.blocked);
  for (int signal = 1; signal <= 64; ++signal)
    if (start.ignored >> (signal - 1) & 1)
      set_action(signal, {.handler = reinterpret_cast<uint64_t>(SIG_IGN)});
  set_identity({std::string(start.program), start.pid});
}

void Replayer::start_thread(const trace::ThreadStartInput& start) {
  if (find_thread(start.created) != nullptr)
    user_error("{}: damaged: thread {} starts a second time, at time {}", trace_.path(), start.created.value,
               now().value);
  guest::Thread& created = add_thread(std::make_unique<guest::Thread>(start.created));
  created.mask = mask();
  if (!guest::makes_thread(current_call())) created.own_actions = copy_actions();
  created.registers.gpr[engine::RAX] = 0;
  created.registers.gpr[engine::RSP] = start.stack.value;
  created.registers.fs_base = start.tls.value;
}

// True if another thread was loaded before.
bool Replayer::turn_to(ThreadId thread) {
  thread_ = thread;
  if (loaded() != nullptr && current().id == thread) return false;
  if (loaded() != nullptr) // what it went on with is done if it has executed anything
    std::erase_if(begun_, [&](const Begun& one) {
      return one.thread == current().id && one.goes_on && one.since != now();
    });
  guest::Thread* next = find_thread(thread);
  if (next == nullptr)
    user_error("{}: damaged: a turn of thread {} at time {}, which does not exist", trace_.path(),
               thread.value, now().value);
  switch_to(*next);
  go_on_with_begun();
  return true;
}

void Replayer::map(const trace::MapInput& map) {
  guest::AddressSpace& space = this->space();
  switch (map.op) {
  case trace::MapOp::map:
  case trace::MapOp::view:
    map_again(map);
    return;
  case trace::MapOp::share:
    check_object(map);
    space.make_view(map.address.value, map.address.value + map.length, map.object, map.offset);
    return;
  case trace::MapOp::unmap:
    space.munmap(map.address.value, map.length);
    return;
  case trace::MapOp::protect:
    space.mprotect(map.address.value, map.length, map.protection);
    return;
  case trace::MapOp::remap:
    space.repeat_mremap(map.old_address.value, map.old_length, map.length, static_cast<int>(map.flags),
                        map.address.value);
    return;
  case trace::MapOp::advise:
    if (map.flags == trace::kWrittenOutside)
      shared_with_others_ = map.path;
    else if (guest::drops_pages(static_cast<int>(map.flags)))
      space.repeat_drop(map.address.value, map.length);
    else
      space.madvise(map.address.value, map.length, static_cast<int>(map.flags));
    return;
  case trace::MapOp::program_break:
    space.brk(map.address.value);
    return;
  }
}

void Replayer::check_object(const trace::MapInput& map) const {
  constexpr uint64_t kMost = uint64_t{1} << 46;
  if (map.offset % guest::kPage != 0 || map.offset > kMost || map.length > kMost)
    user_error("{}: damaged: a view of {:#x} bytes at {:#x} of an object, at time {}", trace_.path(),
               map.length, map.offset, now().value);
}

void Replayer::map_again(const trace::MapInput& map) {
  guest::Mapping mapping;
  mapping.begin = map.address.value;
  mapping.end = guest::page_up(map.address.value + map.length);
  mapping.protection = map.protection;
  mapping.flags = static_cast<int>(map.flags);
  mapping.offset = map.offset;
  mapping.name = map.path;
  mapping.view = map.object;
  mapping.segment = !map.has_file && map.object == 0 && !(map.flags & MAP_ANONYMOUS);
  if (mapping.view != 0) check_object(map);
  if (!space().in_guest_range(mapping.begin, mapping.end))
    user_error("{}: damaged: maps {:#x}-{:#x} at time {}, which is not the guest's", trace_.path(),
               mapping.begin, mapping.end, now().value);
  int fd = -1;
  if (map.has_file) {
    auto [known, fresh] = files_.try_emplace(map.file, -1);
    if (fresh) known->second = trace_.files().open(map.file);
    fd = known->second;
  }
  if (mapping.view != 0)
    space().restore_view(mapping);
  else
    space().restore(mapping, fd);
  if (may_be_written_outside(mapping))
    shared_with_others_ = mapping.segment ? "a System V segment" : mapping.name;
  if (map.has_file && map.offset == 0)
    mapped_files_[mapping.begin] = {map.address, mapping.name, trace_.files().path_of(map.file)};
  for (Observer* observer : observers_)
    observer->mapped(*this, map);
}

std::vector<LoadedFile> Replayer::mapped_files() const {
  std::vector<LoadedFile> result;
  for (const auto& [begin, file] : mapped_files_) {
    const guest::Mapping* mapping = space().find(begin);
    if (mapping != nullptr && mapping->begin == begin && mapping->name == file.path) result.push_back(file);
  }
  return result;
}

void Replayer::write_all(std::span<const MemoryWrite> writes) {
  for (const MemoryWrite& write : writes) {
    uint64_t begin = write.address.value;
    if (!space().in_guest_range(begin, begin + write.size))
      user_error("{}: writes to {:#x} at time {}, which is not the guest's", trace_.path(), begin,
                 now().value);
    size_t done = space().write(write.address, write.data, write.size);
    if (done != write.size)
      differ(fmt::format("{} writable bytes at {:#x}", write.size, write.address.value),
             fmt::format("{}", done));
  }
}

void Replayer::change_all(std::span<const MemoryWrite> writes) {
  for (const MemoryWrite& write : writes)
    if (space().change(write.address, write.data, write.size) != write.size)
      differ(fmt::format("memory at {:#x}", write.address.value), "none");
}

// The instruction at pc did this much before it faulted.
void Replayer::partial(const trace::Input& input) {
  const auto& after = input.as<trace::PartialInput>();
  std::optional<PartialStringInstruction> part = partial_string_instruction(*this, after);
  if (part && !repeat_writes_of(*this, *part))
    differ(fmt::format("{} iterations of a string instruction", part->count), "memory that it cannot reach");
  write_all(input.writes);
  std::ranges::copy(after.gpr, registers().gpr);
  registers().set_flags(after.rflags);
  if (after.vectors.empty()) return;
  if (after.vectors.size() != engine().vector_size())
    user_error("{}: vector registers of {} bytes at time {}; this CPU has {}", trace_.path(),
               after.vectors.size(), now().value, engine().vector_size());
  engine().write_vectors(std::as_bytes(after.vectors));
}

std::vector<WrittenRange> Replayer::written_by(const trace::Input& input) {
  std::vector<WrittenRange> result;
  for (const MemoryWrite& write : input.writes)
    result.push_back({write.address, write.size});
  if (input.kind() != trace::InputKind::partial) return result;
  std::optional<PartialStringInstruction> part =
      partial_string_instruction(*this, input.as<trace::PartialInput>());
  if (part && part->written_size() != 0)
    result.push_back({GuestAddr(part->written_begin()), part->written_size()});
  return result;
}

void Replayer::signal(const trace::SignalInput& input) {
  // The instruction that faults was not executed; when recorded, it was, and had no use for this any more.
  if (input.synchronous) registers().rflags &= ~engine::Registers::kResume;
  if (uint64_t found = guest::hash_registers(*this); found != input.hash)
    differ(fmt::format("registers with the hash {:016x} at signal {}", input.hash, input.number),
           fmt::format("{:016x}", found));
  guest::PendingSignal pending;
  pending.number = input.number;
  std::memcpy(&pending.info, input.siginfo, sizeof input.siginfo);
  pending.trap_number = input.trap_number;
  pending.error_code = input.error_code;
  pending.fault_address = input.fault_address.value;
  // The call that it has ended had a mask of its own, which is in the log here only.
  if (std::exchange(current().waited_with_mask, false)) wait_ended(input.mask);
  if (input.handler != GuestAddr(action(input.number).handler) || input.mask != mask())
    differ(fmt::format("handler {:#x} and mask {:#x} for signal {}", input.handler.value, input.mask,
                       input.number),
           fmt::format("{:#x} and {:#x}", action(input.number).handler, mask()));
  if (input.synchronous) note_fault();
  if (deliver(pending) == Delivery::fatal) fatal_ = pending;
}

// A handler may leave by longjmp, so that its fault stays here. Where that happens many times, the oldest are
// forgotten.
void Replayer::note_fault() {
  constexpr size_t kMost = 64;
  Begun here{.thread = thread_, .pc = registers().rip, .stack = registers().gpr[engine::RSP]};
  std::erase_if(begun_, [&](const Begun& one) { return one.thread == here.thread && one.goes_on; });
  if (begun_.size() == kMost) begun_.erase(begun_.begin());
  begun_.push_back(here);
}

void Replayer::return_from_handler() {
  return_from_signal();
  auto begun = std::ranges::find_if(begun_, [&](const Begun& one) {
    return one.thread == thread_ && one.pc == registers().rip && one.stack == registers().gpr[engine::RSP];
  });
  if (begun == begun_.end()) return;
  begun->goes_on = true;
  go_on_with_begun();
}

// The current thread is about to execute an instruction that has faulted before: if it is to go on with it.
void Replayer::go_on_with_begun() {
  for (Begun& one : begun_)
    if (one.thread == thread_ && one.goes_on) {
      one.since = now();
      translator().pass_hook();
    }
}

void Replayer::instruction(const trace::InstructionInput& input) {
  if (!current().at_input) differ("an input instruction", "none");
  current().at_input = false;
  engine::Engine::InputResult result;
  result.rax = input.values[0];
  result.rbx = input.values[1];
  result.rcx = input.values[2];
  result.rdx = input.values[3];
  result.carry = input.values[1] != 0;
  engine().finish_input(result);
}

} // namespace rdb::replay
