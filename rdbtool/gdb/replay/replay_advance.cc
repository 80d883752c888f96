// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moving a replay forwards, with every stop found exactly.
//
// The engine stops before an instruction at an address or with an access, but never at the first instruction
// of a run. So the first one is always looked at here: before it, for breakpoints, and at what it touches.
#include "rdbtool/gdb/protocol/agent_expression.h"
#include "rdbtool/gdb/protocol/register_file.h"
#include "rdbtool/gdb/replay/replay_agent.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rdb::gdb {

namespace {

// A condition's view of the guest, without a copy of the registers for the usual case.
class GuestContext : public AgentContext {
public:
  GuestContext(replay::Replayer& replayer, std::function<ThreadRegisters()> all)
      : replayer_(replayer), all_(std::move(all)) {}

  std::optional<uint64_t> register_value(unsigned number) override {
    // gdb's order of the general registers, in the order of the encoding.
    static constexpr uint8_t kOrder[] = {0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};
    if (number < 16) return replayer_.registers().gpr[kOrder[number]];
    if (number == kRegisterRip) return replayer_.registers().rip;
    return register_number_value(all_(), number);
  }
  bool read(GuestAddr from, std::span<std::byte> to) override {
    return replayer_.space().read(from, to.data(), to.size()) == to.size();
  }

private:
  replay::Replayer& replayer_;
  std::function<ThreadRegisters()> all_;
};

bool overlaps(const Watchpoint& watch, uint64_t address, uint64_t size) {
  return address < watch.address.value + watch.size && watch.address.value < address + size;
}

} // namespace

bool ReplayAgent::at_limit(Position limit) const {
  if (time_ != limit.time) return time_ > limit.time;
  return ordinal_ >= limit.ordinal || !pending_;
}

void ReplayAgent::set_stops(const StopPoints& stops) {
  std::set<uint64_t> addresses;
  for (const Breakpoint& point : stops.breakpoints)
    addresses.insert(point.address.value);
  std::vector<replay::WatchedRange> watched;
  watched.reserve(stops.watchpoints.size());
  for (const Watchpoint& watch : stops.watchpoints)
    watched.push_back(
        {watch.address, watch.size, watch.kind != WatchKind::write, watch.kind != WatchKind::read});
  stops_.set(std::move(addresses), watched);
}

bool ReplayAgent::in_call(ThreadId id) {
  const guest::Thread* thread = replayer_.find_thread(id);
  return thread != nullptr && thread->at_call;
}

uint64_t ReplayAgent::pc_of(ThreadId id) {
  const guest::Thread* thread = replayer_.find_thread(id);
  bool loaded = thread == nullptr || thread == replayer_.loaded();
  return loaded ? replayer_.registers().rip : thread->registers.rip;
}

// A thread may have executed instructions: a new position if it did. Another one may be loaded by now.
void ReplayAgent::after_instructions(ThreadId ran) {
  if (replayer_.now() == time_) return;
  time_ = replayer_.now();
  ordinal_ = 0;
  returned_.reset();
  entered_.reset();
  const guest::Thread* thread = replayer_.find_thread(ran);
  if (thread == nullptr || !thread->at_call) return;
  const auto& regs = thread == replayer_.loaded() ? replayer_.registers() : thread->registers;
  entered_ = {ran, guest::call_in(regs).number};
}

// Finds out whether the next thing is an input of this same time, and which thread goes on.
void ReplayAgent::settle() {
  if (pending_ || ended_) return;
  replay::Replayer::Stretch stretch;
  do
    stretch = replayer_.advance(time_);
  while (stretch.end == replay::Replayer::StretchEnd::turn);
  if (stretch.end == replay::Replayer::StretchEnd::input) pending_ = stretch.input;
  if (stretch.end == replay::Replayer::StretchEnd::ended) ended_ = true;
}

void ReplayAgent::apply_pending() {
  const trace::Input& input = *pending_;
  trace::InputKind kind = input.kind();
  if (kind == trace::InputKind::syscall)
    returning_ = {input.thread, static_cast<int64_t>(input.as<trace::SyscallInput>().number)};
  bool more = input.more, continued = input.continued;
  if (kind == trace::InputKind::signal)
    std::memcpy(last_siginfo_[input.thread].data(), input.as<trace::SignalInput>().siginfo,
                sizeof input.as<trace::SignalInput>().siginfo);
  replay::Replayer::Stretch stretch = replayer_.advance(time_);
  pending_ = nullptr;
  ++ordinal_;
  if (stretch.end == replay::Replayer::StretchEnd::ended) ended_ = true;
  returned_.reset();
  if ((kind == trace::InputKind::syscall || continued) && !more)
    returned_ = std::exchange(returning_, std::nullopt);
  settle();
}

std::optional<StopEvent> ReplayAgent::arrival(const StopPoints& stops) {
  ThreadId thread = replayer_.thread();
  if (pending_ && pending_->kind() == trace::InputKind::signal) {
    const auto& signal = pending_->as<trace::SignalInput>();
    bool silent = signal.number <= 0 || signal.number > 64 ||
                  signal.action == trace::SignalOutcome::ignored ||
                  stops.silent_signals[static_cast<size_t>(signal.number)];
    if (!silent) return StopEvent{StopKind::signal, thread, signal.number, {}, {}};
  }
  if (!stops.syscalls.enabled) return std::nullopt;
  if (entered_ && ordinal_ == 0 && stops.syscalls.catches(entered_->number))
    return StopEvent{StopKind::syscall_entry, entered_->thread, entered_->number, {}, {}};
  if (returned_ && stops.syscalls.catches(returned_->number))
    return StopEvent{StopKind::syscall_return, returned_->thread, returned_->number, {}, {}};
  return std::nullopt;
}

std::optional<StopEvent> ReplayAgent::breakpoint_here(const StopPoints& stops) {
  GuestAddr pc(replayer_.registers().rip);
  if (!stops_.has(pc.value)) return std::nullopt;
  GuestContext context(replayer_, [this] { return registers(replayer_.thread()); });
  for (const Breakpoint& point : stops.breakpoints)
    if (point.address == pc && condition_holds(point.conditions, context))
      return StopEvent{StopKind::breakpoint, replayer_.thread(), 0, {}, {}};
  return std::nullopt;
}

std::optional<StopEvent> ReplayAgent::next_instruction_touches(const StopPoints& stops) {
  if (stops.watchpoints.empty()) return std::nullopt;
  for (const replay::TouchedRange& touched : stops_.next_touched())
    for (const Watchpoint& watch : stops.watchpoints) {
      bool is_watched = (touched.is_written && watch.kind != WatchKind::read) ||
                        (touched.is_read && watch.kind != WatchKind::write);
      if (is_watched && overlaps(watch, touched.address.value, touched.size))
        return StopEvent{StopKind::watchpoint, replayer_.thread(), 0, watch, {}};
    }
  return std::nullopt;
}

std::optional<StopEvent> ReplayAgent::pending_input_touches(const StopPoints& stops) {
  if (stops.watchpoints.empty()) return std::nullopt;
  for (const replay::WrittenRange& write : replayer_.written_by(*pending_))
    for (const Watchpoint& watch : stops.watchpoints)
      if (watch.kind != WatchKind::read && overlaps(watch, write.address.value, write.size))
        return StopEvent{StopKind::watchpoint, replayer_.thread(), 0, watch, {}};
  return std::nullopt;
}

void ReplayAgent::report(Advanced& reply) {
  reply.here = here();
  reply.input_pending = pending_ != nullptr;
  reply.thread = replayer_.thread();
  take_debug_output();
  reply.output = std::exchange(output_, {});
  show_from_ = kNever;
}

// True if the run ends with this stop. Whoever wants the last one before the limit goes on.
bool ReplayAgent::take(Advancing& run, std::optional<StopEvent> stop, Position at) {
  if (!stop) return false;
  run.reply.stop = std::move(stop);
  run.reply.stop_at = at;
  return !run.request.last_stop;
}

Advanced ReplayAgent::advance(const Advance& request) {
  Advancing run{request};
  set_stops(request.stops);
  show_from_ = request.show_from;
  run.waits_for_result = request.step && in_call(*request.step);
  if (request.last_stop && !at_limit(request.limit)) take(run, arrival(request.stops), here());
  run.reply.kind = advance_until_stop(run);
  report(run.reply);
  return std::move(run.reply);
}

Advanced::Kind ReplayAgent::advance_until_stop(Advancing& run) {
  for (;;) {
    if (at_limit(run.request.limit)) return Advanced::Kind::limit;
    Move move;
    move.before = here();
    if (move.before == show_from_) take_debug_output();
    if (pending_)
      apply_one(run, move);
    else if (ended_)
      return Advanced::Kind::end;
    else if (execute_some(run, move))
      return Advanced::Kind::stop;
    if (here() != move.before && judge(run, move)) return Advanced::Kind::stop;
  }
}

// The input that is due.
void ReplayAgent::apply_one(const Advancing& run, Move& move) {
  move.to_handler = pending_->kind() == trace::InputKind::signal && run.request.step == pending_->thread &&
                    pending_->as<trace::SignalInput>().action == trace::SignalOutcome::handler;
  move.touched = pending_input_touches(run.request.stops);
  apply_pending();
}

// An instruction or many, up to a stop or an input. True if the run ends with a breakpoint.
bool ReplayAgent::execute_some(Advancing& run, Move& move) {
  using StretchEnd = replay::Replayer::StretchEnd;
  const Advance& request = run.request;
  if (!std::exchange(run.passes_breakpoint, false) && take(run, breakpoint_here(request.stops), move.before))
    return true;
  move.ran = replayer_.thread();
  move.touched = next_instruction_touches(request.stops);
  bool one = move.touched || (request.step == move.ran && !request.last_stop);
  Time to = one ? Time(time_ + 1) : request.limit.time;
  if (debug_output_ >= 0 && here() < show_from_) to = std::min(to, show_from_.time);
  replay::Replayer::Stretch stretch = replayer_.advance(to);
  if (stretch.end == StretchEnd::input && stretch.input->kind() == trace::InputKind::instruction)
    stretch = replayer_.advance(to); // no input to the eye: an instruction like others
  after_instructions(*move.ran);
  if (stretch.end == StretchEnd::ended) ended_ = true;
  if (stretch.end == StretchEnd::input) pending_ = stretch.input;
  if (stretch.end == StretchEnd::address) {
    if (take(run, breakpoint_here(request.stops), here())) return true;
    run.passes_breakpoint = true;
  }
  settle();
  return false;
}

// Looks at what has been moved to, and at what it took. True if the run ends here.
bool ReplayAgent::judge(Advancing& run, const Move& move) {
  const Advance& request = run.request;
  bool at_end = request.last_stop && at_limit(request.limit);
  bool stepped = request.step && request.step == move.ran && time_ != move.before.time;
  // Its last instruction so far: the position before it is that of a step back.
  if (stepped && request.last_stop)
    take(run, StopEvent{StopKind::step, *move.ran, 0, {}, {}}, {time_ - 1, UINT32_MAX});
  if (move.touched && take(run, move.touched, request.last_stop ? move.before : here())) return true;
  if (!at_end && take(run, arrival(request.stops), here())) return true;
  if (!request.step || request.last_stop) return false;
  return ends_step(run, stepped || move.to_handler);
}

// Whether the thread that is stepped has come to where the step ends. `moved`: it is not where it was.
bool ReplayAgent::ends_step(Advancing& run, bool moved) {
  const Advance& request = run.request;
  ThreadId thread = *request.step;
  moved |= run.waits_for_result;
  run.waits_for_result = moved && in_call(thread);
  if (!moved || run.waits_for_result || replayer_.find_thread(thread) == nullptr) return false;
  uint64_t pc = pc_of(thread);
  if (pc >= request.range_begin.value && pc < request.range_end.value) return false;
  return take(run, StopEvent{StopKind::step, thread, 0, {}, {}}, here());
}

} // namespace rdb::gdb
