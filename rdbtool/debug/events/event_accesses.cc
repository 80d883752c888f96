// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events of memory: who touches a watched range, by an instruction, which is executed here so that "after" is
// right behind it, or by a system call, whose effects rdb writes itself.
#include "rdbtool/base/error.h"
#include "rdbtool/debug/events/events.h"
#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/engine/translate/code_path.h"
#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/syscalls/call_reads.h"

#include <algorithm>
#include <cstring>

namespace rdb::debug {
namespace {

std::vector<std::byte> bytes_at(replay::Replayer& replayer, uint64_t begin, uint64_t end) {
  std::vector<std::byte> bytes(end - begin);
  bytes.resize(replayer.space().read(GuestAddr(begin), bytes.data(), bytes.size()));
  return bytes;
}

} // namespace

// Adds the ranges that an access concerns, with what they hold before it. A range that is touched twice is
// there once.
void Events::note_touch(replay::Replayer& replayer, uint64_t begin, uint64_t end, bool read, bool write,
                        std::vector<Touch>& touches) const {
  ranges_.any(begin, end, [&](const auto& range) {
    const Wanted& who = range.value;
    if (who->removed || !((read && who->reads) || (write && who->writes))) return false;
    uint64_t first = std::max(begin, range.begin), last = std::min(end, range.end);
    auto known = std::find_if(touches.begin(), touches.end(), [&](const Touch& t) { return t.who == who; });
    if (known != touches.end()) {
      known->begin = std::min(known->begin, first);
      known->end = std::max(known->end, last);
      known->write |= write;
      return false;
    }
    bool whole = range.end - range.begin <= kLargestWhole;
    uint64_t from = whole ? range.begin : first;
    touches.push_back({who, first, last, write, bytes_at(replayer, from, whole ? range.end : last), from});
    return false;
  });
}

void Events::tell_accesses(replay::Replayer& replayer, EventKind side, uint64_t pc,
                           std::vector<Touch>& touches, bool by_system_call) {
  std::sort(touches.begin(), touches.end(),
            [](const Touch& a, const Touch& b) { return a.who->id < b.who->id; });
  ++telling_;
  for (Touch& touch : touches) {
    const Registration& who = *touch.who;
    if (who.removed || who.kind != side) continue;
    Event event{.kind = side,
                .pc = GuestAddr(pc),
                .address = GuestAddr(who.begin),
                .size = who.end - who.begin,
                .write = touch.write,
                .by_system_call = by_system_call,
                .touched = GuestAddr(touch.begin),
                .touched_size = touch.end - touch.begin,
                .old_bytes = std::move(touch.old_bytes),
                .bytes_at = GuestAddr(touch.bytes_at)};
    who.callback(replayer, event);
  }
  --telling_;
}

// A write that is told by the CPU costs more than one that is found out by the translated code.
constexpr uint64_t kMostHardwareHits = 10'000;

bool Events::watch_by_hardware() {
  std::vector<HardwareWatches::WatchedRange> ranges;
  for (const auto& range : ranges_.ranges()) {
    const Registration& who = *range.value;
    if (who.kind != EventKind::after_access || who.reads) return false;
    ranges.push_back({range.begin, range.end});
  }
  if (ranges.empty() || ranges.size() > HardwareWatches::kMost || hardware_hits_ > kMostHardwareHits)
    return false;
  return hardware_.set(ranges);
}

void Events::watch_memory(replay::Replayer& replayer) {
  std::vector<engine::WatchFilter::Watch> watches;
  for (const auto& range : ranges_.ranges())
    watches.push_back({range.begin, range.end, range.value->reads, range.value->writes});
  by_hardware_ = watch_by_hardware();
  if (!by_hardware_) hardware_.clear();
  keep_bytes(replayer);
  replayer.translator().set_watches(watches, by_hardware_);
  watch_inputs(replayer);
}

// The CPU tells of a write when the old bytes are gone.
void Events::keep_bytes(replay::Replayer& replayer) {
  if (!by_hardware_) return;
  for (const auto& range : ranges_.ranges())
    replayer.space().read(GuestAddr(range.begin), range.value->kept.data(), range.end - range.begin);
}

void Events::host_wrote(replay::Replayer&, GuestAddr address) {
  for (const auto& range : ranges_.ranges())
    if (by_hardware_ && range.begin <= address.value && address.value < range.end)
      std::memcpy(range.value->kept.data(), reinterpret_cast<const void*>(range.begin),
                  range.end - range.begin);
}

void Events::written(replay::Replayer& replayer, GuestAddr pc) {
  std::optional<engine::Instruction> writer = engine::instruction_at(replayer.space(), pc.value);
  RDB_CHECK(writer.has_value());
  std::vector<Touch> touches;
  for (const engine::MemoryAccess& access : engine::accesses_done(*writer, replayer.registers()))
    note_touch(replayer, access.address, access.address + access.size, access.read, access.write, touches);
  for (Touch& touch : touches)
    std::copy_n(touch.who->kept.begin(), touch.old_bytes.size(), touch.old_bytes.begin());
  keep_bytes(replayer);
  tell_accesses(replayer, EventKind::after_access, pc.value, touches, false);
  if (++hardware_hits_ == kMostHardwareHits + 1) changed_ = rearm_ = true;
  arm(replayer);
}

// What a system call reads of the program's memory, as write() does.
void Events::note_reads(replay::Replayer& replayer, const trace::Input& input, std::vector<Touch>& touches) {
  if (input.kind() != trace::InputKind::syscall) return;
  bool wanted = std::any_of(ranges_.ranges().begin(), ranges_.ranges().end(),
                            [](const auto& range) { return range.value->reads; });
  if (!wanted) return;
  const auto& done = input.as<trace::SyscallInput>();
  SyscallArgs arguments;
  std::copy(std::begin(call_arguments_), std::end(call_arguments_), arguments.begin());
  visit_call_reads(static_cast<uint64_t>(done.number), arguments, done.result,
                   guest::SpaceView(replayer.space()), [&](GuestAddr address, uint64_t size) {
                     note_touch(replayer, address.value, address.value + size, true, false, touches);
                   });
}

void Events::watch_inputs(replay::Replayer& replayer) {
  if (ranges_.empty()) {
    replayer.space().on_write(nullptr);
    return;
  }
  replayer.space().on_write([this, &replayer](GuestAddr to, size_t size) {
    if (collecting_) note_touch(replayer, to.value, to.value + size, false, true, by_input_);
  });
}

void Events::accessed(replay::Replayer& replayer, const engine::Access&) {
  uint64_t pc = replayer.registers().rip;
  std::optional<engine::Instruction> next = engine::instruction_at(replayer.space(), pc);
  std::vector<Touch> touches;
  if (next)
    for (const engine::MemoryAccess& access : engine::memory_accesses(*next, replayer.engine()))
      note_touch(replayer, access.address, access.address + access.size, access.read, access.write, touches);
  tell_accesses(replayer, EventKind::before_access, pc, touches, false);
  bool done = replayer.run_guest(1).reason == engine::StopReason::limit;
  keep_bytes(replayer);
  if (done) tell_accesses(replayer, EventKind::after_access, pc, touches, false);
  arm(replayer);
}

} // namespace rdb::debug
