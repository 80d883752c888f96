// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moving is applying the changes of one step after the other. A diversion is the program run once more, with
// the same steps, up to the same state.
#include "tests/gdb/stepped_target.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/hash.h"
#include "rdbtool/gdb/protocol/agent_expression.h"
#include "rdbtool/gdb/protocol/recorded_files.h"
#include "rdbtool/gdb/protocol/register_file.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::gdb {

namespace {

using Event = SteppedRun::State::Event;

// The target itself as conditions see it.
struct Condition : AgentContext {
  Target& target;
  ThreadId thread;
  Condition(Target& t, ThreadId id) : target(t), thread(id) {}
  std::optional<uint64_t> register_value(unsigned number) override {
    return register_number_value(target.registers(thread), number);
  }
  bool read(GuestAddr from, std::span<std::byte> to) override {
    return target.read_memory(from, to) == to.size();
  }
};

} // namespace

SteppedTarget::SteppedTarget(SteppedRun run) : run_(std::move(run)), memory_(run_.memory) {}

void SteppedTarget::forward() {
  for (const SteppedRun::Change& change : run_.steps[now_].changes) {
    auto& [base, bytes] = *std::prev(memory_.upper_bound(change.address.value));
    std::memcpy(&bytes[change.address.value - base], change.after.data(), change.after.size());
  }
  ++now_;
}

void SteppedTarget::backward() {
  --now_;
  const auto& changes = run_.steps[now_].changes;
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    auto& [base, bytes] = *std::prev(memory_.upper_bound(change->address.value));
    std::memcpy(&bytes[change->address.value - base], change->before.data(), change->before.size());
  }
}

bool SteppedTarget::breaks(const Breakpoint& breakpoint, ThreadId thread) {
  if (breakpoint.address.value != registers(thread).rip) return false;
  Condition condition(*this, thread);
  return condition_holds(breakpoint.conditions, condition);
}

std::optional<StopEvent> SteppedTarget::breakpoint_here(const StopPoints& stops) {
  const SteppedRun::State& state = run_.states[now_];
  if (state.input_pending || now_ + 1 == run_.states.size()) return std::nullopt; // no instruction comes next
  for (const Breakpoint& breakpoint : stops.breakpoints)
    if (breaks(breakpoint, state.next)) return StopEvent{StopKind::breakpoint, state.next, 0, {}, {}};
  return std::nullopt;
}

std::optional<StopEvent> SteppedTarget::arrival(const StopPoints& stops) {
  const SteppedRun::State& state = run_.states[now_];
  switch (state.event) {
  case Event::syscall_entry:
  case Event::syscall_return:
    if (!stops.syscalls.catches(state.number)) return std::nullopt;
    return StopEvent{state.event == Event::syscall_entry ? StopKind::syscall_entry : StopKind::syscall_return,
                     now_ > 0 ? run_.steps[now_ - 1].thread : state.next,
                     state.number,
                     {},
                     {}};
  case Event::signal:
    if (stops.silent_signals[static_cast<size_t>(state.number)]) return std::nullopt;
    return StopEvent{StopKind::signal, state.next, state.number, {}, {}};
  case Event::none:
    break;
  }
  return std::nullopt;
}

std::optional<StopEvent> SteppedTarget::watchpoint(const StopPoints& stops, const SteppedRun::Step& step) {
  for (const Watchpoint& watch : stops.watchpoints)
    for (const SteppedRun::Access& access : step.accesses) {
      bool overlaps = access.address.value < watch.address.value + watch.size &&
                      watch.address.value < access.address.value + access.size;
      bool kind =
          (access.write && watch.kind != WatchKind::read) || (access.read && watch.kind != WatchKind::write);
      if (overlaps && kind) return StopEvent{StopKind::watchpoint, step.thread, 0, watch, {}};
    }
  return std::nullopt;
}

StopEvent SteppedTarget::run_forward(const RunRequest& request, const StopPoints& stops) {
  for (;;) {
    if (auto stop = breakpoint_here(stops)) return *stop;
    if (now_ + 1 == run_.states.size()) {
      std::string how = run_.ending.kind == ProgramEnd::Kind::exited
                            ? fmt::format("the program exited with status {}", run_.ending.value)
                            : fmt::format("signal {} ended the program", run_.ending.value);
      return {StopKind::history_end, current_thread(), 0, {}, "rdb: the recording ends here: " + how};
    }
    const SteppedRun::Step& step = run_.steps[now_];
    forward();
    if (auto stop = watchpoint(stops, step)) return *stop;
    if (auto stop = arrival(stops)) return *stop;
    // Out of a call, or into a handler: inputs of the thread itself are steps too.
    if (request.step == step.thread && has_thread(step.thread) &&
        run_.states[now_].event != Event::syscall_entry) {
      uint64_t pc = registers(step.thread).rip;
      if (pc < request.range_begin.value || pc >= request.range_end.value)
        return {StopKind::step, step.thread, 0, {}, {}};
    }
    if (request.interrupt && request.interrupt->requested())
      return {StopKind::interrupted, current_thread(), 0, {}, {}};
  }
}

StopEvent SteppedTarget::run_backward(const RunRequest& request, const StopPoints& stops) {
  while (now_ > 0) {
    backward();
    const SteppedRun::Step& step = run_.steps[now_];
    if (auto stop = watchpoint(stops, step)) return *stop;
    if (auto stop = arrival(stops)) return *stop;
    if (request.step == step.thread && step.instruction) return {StopKind::step, step.thread, 0, {}, {}};
    if (auto stop = breakpoint_here(stops)) return *stop;
    if (request.interrupt && request.interrupt->requested())
      return {StopKind::interrupted, current_thread(), 0, {}, {}};
  }
  return {StopKind::history_start, current_thread(), 0, {}, {}};
}

StopEvent SteppedTarget::run(const RunRequest& request) {
  static const StopPoints kNone;
  const StopPoints& stops = request.stops ? *request.stops : kNone;
  return request.direction == Direction::forward ? run_forward(request, stops) : run_backward(request, stops);
}

StopEvent SteppedTarget::seek(Position position, InterruptSource*) {
  auto after = std::ranges::upper_bound(run_.states, position, {}, &SteppedRun::State::at);
  size_t wanted = after == run_.states.begin() ? 0 : static_cast<size_t>(after - run_.states.begin()) - 1;
  while (now_ < wanted)
    forward();
  while (now_ > wanted)
    backward();
  return {StopKind::sought, current_thread(), 0, {}, {}};
}

bool SteppedTarget::has_thread(ThreadId thread) {
  auto found = run_.threads.find(thread.value);
  return found != run_.threads.end() && found->second.first <= now_ && now_ < found->second.end;
}

std::vector<ThreadInfo> SteppedTarget::threads() {
  std::vector<ThreadInfo> all;
  for (const auto& [id, thread] : run_.threads)
    if (has_thread(ThreadId(id))) all.push_back({ThreadId(id), thread.name});
  return all;
}

const ThreadRegisters& SteppedTarget::known_registers(ThreadId thread) const {
  const auto& known = run_.threads.at(thread.value).known;
  auto after = std::ranges::upper_bound(known, now_, {}, &std::pair<size_t, ThreadRegisters>::first);
  return std::prev(after)->second;
}

ThreadRegisters SteppedTarget::registers(ThreadId thread) {
  if (!has_thread(thread)) user_error("there is no thread {} here", thread.value);
  return diversion_ ? diversion_->registers(ThreadId(diversion_->pid())) : known_registers(thread);
}

size_t SteppedTarget::read_memory(GuestAddr from, std::span<std::byte> to) {
  if (diversion_) return diversion_->read(from, to);
  size_t done = 0;
  while (done < to.size()) {
    uint64_t address = from.value + done;
    auto after = memory_.upper_bound(address);
    if (after == memory_.begin()) break;
    const auto& [base, bytes] = *std::prev(after);
    if (address >= base + bytes.size()) break;
    size_t count = std::min(to.size() - done, static_cast<size_t>(base + bytes.size() - address));
    std::memcpy(to.data() + done, &bytes[address - base], count);
    done += count;
  }
  return done;
}

uint64_t SteppedTarget::state_hash() {
  Xxh64 hash;
  for (const auto& [base, bytes] : memory_)
    hash.update(bytes.data(), bytes.size());
  for (const ThreadInfo& thread : threads())
    hash.update(&known_registers(thread.id).gpr, sizeof(ThreadRegisters::gpr));
  return hash.digest();
}

std::array<std::byte, 128> SteppedTarget::siginfo(ThreadId) {
  return run_.states[now_].siginfo;
}

std::unique_ptr<RecordedFile> SteppedTarget::open_file(const std::string& path) {
  // The program names its libraries through links, the kernel does not.
  char real[PATH_MAX];
  if (!realpath(path.c_str(), real)) return nullptr;
  bool mapped = std::ranges::find(run_.mappings, real, &MemoryRegion::path) != run_.mappings.end();
  int fd = mapped ? open(path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  return fd < 0 ? nullptr : file_of(fd);
}

void SteppedTarget::begin_diversion() {
  if (threads().size() != 1) limit("only a program with one thread can be run again here");
  diversion_ = std::make_unique<Tracee>(run_.argv, run_.function);
  ThreadId thread(diversion_->pid());
  for (size_t i = 0; i < now_; ++i) {
    const SteppedRun::State& state = run_.states[i];
    // The step to "in the call" is done together with the one out of it.
    if (state.event != Event::syscall_entry && i + 1 < run_.states.size() &&
        run_.states[i + 1].event == Event::syscall_entry)
      continue;
    diversion_->step(thread, state.event == Event::signal ? static_cast<int>(state.number) : 0);
  }
  ThreadRegisters there = diversion_->registers(thread), here = known_registers(ThreadId(run_.pid));
  if (there.rip != here.rip || there.gpr[4] != here.gpr[4]) {
    diversion_.reset();
    limit("the program ran differently this time");
  }
}

void SteppedTarget::write_registers(ThreadId, const ThreadRegisters& registers) {
  diversion_->set_registers(ThreadId(diversion_->pid()), registers);
}

size_t SteppedTarget::write_memory(GuestAddr to, std::span<const std::byte> from) {
  return diversion_->write(to, from);
}

StopEvent SteppedTarget::run_diversion(ThreadId thread, const RunRequest& request) {
  ThreadId running(diversion_->pid());
  const auto& points = request.stops->breakpoints;
  // Real trap instructions, put in for the run alone.
  std::vector<std::byte> before(points.size());
  std::byte trap{0xcc};
  for (size_t i = 0; i < points.size() && !request.step; ++i) {
    diversion_->read(points[i].address, std::span(&before[i], 1));
    diversion_->write(points[i].address, std::span(&trap, 1));
  }
  int status = request.step ? diversion_->step(running, 0) : diversion_->resume(running, 0);
  for (size_t i = points.size(); i-- > 0 && !request.step;)
    diversion_->write(points[i].address, std::span(&before[i], 1));
  if (!WIFSTOPPED(status)) {
    end_diversion();
    return {StopKind::diversion_end,
            thread,
            0,
            {},
            "rdb: the function ended the program; the recorded run goes on"};
  }
  if (request.step) return {StopKind::step, thread, 0, {}, {}};
  ThreadRegisters now = diversion_->registers(running);
  for (const Breakpoint& point : points) {
    bool after_trap = WSTOPSIG(status) == SIGTRAP && now.rip == point.address.value + 1;
    // The stack cannot be executed, so a return to a breakpoint there faults instead.
    bool faulted = WSTOPSIG(status) == SIGSEGV && now.rip == point.address.value;
    if (!after_trap && !faulted) continue;
    now.rip = point.address.value;
    diversion_->set_registers(running, now);
    return {StopKind::breakpoint, thread, 0, {}, {}};
  }
  return {StopKind::signal, thread, WSTOPSIG(status), {}, {}};
}

} // namespace rdb::gdb
