// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/replay/replayer.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/calls/call_output.h"
#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/replay/confinement.h"
#include "rdbtool/syscalls/describe.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace rdb::replay {
namespace {

guest::MachineOptions machine_options(const trace::Metadata& metadata) {
  guest::MachineOptions options;
  options.layout = static_cast<guest::LayoutVersion>(metadata.layout_version);
  options.layout_top = metadata.layout_top;
  options.seed = metadata.layout_seed;
  options.randomise = metadata.aslr;
  return options;
}

// How far the guest may run past the time at which it must make a call before it is found out.
constexpr uint64_t kBeyondCall = 1'000'000;

// Whether the input comes of the instruction at pc, which was begun and not done.
bool is_fault(const trace::Input& input) {
  constexpr uint64_t kBreakpoint = 3, kOverflow = 4; // traps: the instruction is done
  if (input.kind() == trace::InputKind::partial) return true;
  if (input.kind() != trace::InputKind::signal) return false;
  const auto& signal = input.as<trace::SignalInput>();
  return signal.synchronous && signal.trap_number != kBreakpoint && signal.trap_number != kOverflow;
}

bool is_of(const trace::Step& step, trace::InputKind kind) {
  return step.input != nullptr && step.input->kind() == kind;
}

// The process and those it was forked from, back to the one that began as a program.
std::vector<trace::ProcessInfo> ancestry(const trace::TraceReader& trace, const trace::ProcessInfo& process) {
  std::vector<trace::ProcessInfo> result = {process};
  while (result.back().origin == trace::ProcessOrigin::forked) {
    const trace::ProcessInfo& child = result.back();
    const trace::ProcessInfo* parent = nullptr;
    for (const trace::ProcessInfo& candidate : trace.processes())
      if (candidate.name == child.parent && candidate.number < child.number) parent = &candidate;
    if (parent == nullptr) user_error("{}: process {} has no parent in it", trace.path(), child.name);
    result.push_back(*parent);
  }
  return result;
}

} // namespace

Replayer::Replayer(const trace::TraceReader& trace, const trace::ProcessInfo& process, OutputSink* sink)
    : Machine(machine_options(trace.metadata())), trace_(trace), descent_(ancestry(trace, process)),
      run_(trace.run(descent_.back())), sink_(sink) {
  add_thread(std::make_unique<guest::Thread>(ThreadId(descent_.back().pid)));
  descent_.pop_back();
  if (!descent_.empty()) later_sink_ = std::exchange(sink_, nullptr);
  guest::install_host_signals(translator(), *this);
  progress_.answers.space = &space();
  translator().set_fast_syscall(make_fast_syscall(progress_.answers));
}

// The call that forked is reached: from here on the child's log counts.
void Replayer::enter_child() {
  const trace::ProcessInfo child = descent_.back();
  descent_.pop_back();
  if (!current().at_call) differ(fmt::format("a call that makes process {}", child.name), "none");
  keep_only_current(ThreadId(child.pid));
  if (!guest::shares_memory(current_call())) space().after_fork();
  run_ = trace_.run(child);
  progress_.step = nullptr;
  if (!descent_.empty()) return;
  sink_ = later_sink_;
  if (on_own_log_) on_own_log_();
}

bool Replayer::when_own_log_begins(std::function<void()> then) {
  if (descent_.empty()) return false;
  on_own_log_ = std::move(then);
  return true;
}

Replayer::~Replayer() {
  for (auto& [id, fd] : files_)
    close(fd);
}

std::optional<guest::Ending> Replayer::run(Time to) {
  progress_.undisturbed = true;
  std::optional<guest::Ending> ending = run_stretches(to);
  progress_.undisturbed = false;
  return ending;
}

std::optional<guest::Ending> Replayer::run_stretches(Time to) {
  for (;;) {
    switch (advance(to).end) {
    case StretchEnd::reached:
    case StretchEnd::ended:
      return ending_;
    case StretchEnd::input:
    case StretchEnd::applied:
    case StretchEnd::turn:
    case StretchEnd::address:
      break;
    case StretchEnd::access:
      for (Observer* observer : observers_)
        observer->accessed(*this, progress_.access);
      break;
    case StretchEnd::written:
      for (Observer* observer : observers_)
        observer->written(*this, progress_.access.address);
    }
  }
}

Replayer::Stretch Replayer::advance(Time to) {
  while (!ending_) {
    if (progress_.input_due) return apply_due();
    if (progress_.step == nullptr) {
      look_ahead(to);
      progress_.step = run_.next();
    }
    const trace::Step* step = progress_.step;
    if (!descent_.empty() && forks_before(step)) {
      if (std::optional<Stretch> stretch = play_to_fork(step, to)) return *stretch;
      continue;
    }
    if (step == nullptr) break;
    // The end of a turn is nobody's: its thread may have ended.
    bool goes_on = step->input != nullptr || step->until > now();
    if (goes_on && turn_to(step->thread)) return {StretchEnd::turn, nullptr};
    if (step->until > to) return {play_to({step->thread, to, nullptr}), nullptr};
    StretchEnd end = play_to(*step);
    if (end != StretchEnd::reached) return {end, nullptr};
    if (step->input != nullptr) {
      progress_.input_due = true;
      return {StretchEnd::input, step->input};
    }
    progress_.step = nullptr;
  }
  return {StretchEnd::ended, nullptr};
}

Replayer::Stretch Replayer::apply_due() {
  progress_.input_due = false;
  const trace::Input* input = std::exchange(progress_.step, nullptr)->input;
  for (Observer* observer : observers_)
    observer->before_input(*this, *input);
  apply(*input);
  for (Observer* observer : observers_)
    observer->after_input(*this, *input);
  return {ending_ ? StretchEnd::ended : StretchEnd::applied, input};
}

// Towards the fork that leads to the process, which comes before the step of its ancestor is done. Nothing if
// the fork is passed, and the log is the child's.
std::optional<Replayer::Stretch> Replayer::play_to_fork(const trace::Step* step, Time to) {
  Time fork_time = descent_.back().parent_time;
  if (now() < fork_time) {
    // The log of the one that forked was cut off before: what came until then is not known.
    if (step == nullptr && run_.end().kind != trace::LogEnd::Kind::closed)
      return Stretch{StretchEnd::ended, nullptr};
    if (step != nullptr && turn_to(step->thread)) return Stretch{StretchEnd::turn, nullptr};
  }
  StretchEnd end = play_to({thread_, std::min(fork_time, to), nullptr});
  if (end != StretchEnd::reached || fork_time > to) return Stretch{end, nullptr};
  enter_child();
  return std::nullopt;
}

// Whether the fork that leads to the process comes before this step is done: its call is answered by the
// child's log.
bool Replayer::forks_before(const trace::Step* step) const {
  Time fork_time = descent_.back().parent_time;
  if (step == nullptr || step->until > fork_time) return true;
  return step->until == fork_time && is_of(*step, trace::InputKind::syscall);
}

void Replayer::add_observer(Observer& observer) {
  observers_.push_back(&observer);
  translator().set_hook(
      [](void* self, uint64_t pc) {
        auto& replayer = *static_cast<Replayer*>(self);
        for (Observer* o : replayer.observers_)
          o->hooked(replayer, GuestAddr(pc));
      },
      this);
}

// Takes from the log what can be answered without stopping for it.
void Replayer::look_ahead(Time to) {
  if (!progress_.undisturbed || inputs_wanted_ || !descent_.empty()) return;
  progress_.calls.clear();
  run_.take_calls(now(), to, &can_answer_fast, progress_.calls);
  progress_.answers.next = progress_.calls.data();
  progress_.answers.end = progress_.calls.data() + progress_.calls.size();
}

// The guest has come to the next of these calls, and something about it is not simple.
void Replayer::answer_long_way() {
  const trace::LoggedCall& logged = *progress_.answers.next++;
  trace::Input input{
      {logged.time, 0}, thread_, logged.call, {&logged.write, logged.write.size != 0 ? 1u : 0}};
  for (Observer* observer : observers_)
    observer->before_input(*this, input);
  answer_call(input);
  for (Observer* observer : observers_)
    observer->after_input(*this, input);
  space().is_plain(logged.write.address.value, logged.write.size); // it may be simple the next time
}

void Replayer::tell_inputs(bool wanted) {
  inputs_wanted_ = wanted;
  // Those that were taken from the log already are told as they come.
  translator().set_fast_syscall(wanted ? engine::FastSyscall{} : make_fast_syscall(progress_.answers));
}

void Replayer::settle_observers() {
  unsettled_ = false;
  for (Observer* observer : observers_)
    observer->settle(*this);
}

void Replayer::wake_at(Time time) {
  wake_at_ = time;
  translator().end_run_at(time.value);
}

void Replayer::wake() {
  wake_at_ = Time(UINT64_MAX);
  for (Observer* observer : observers_)
    observer->woken(*this);
}

Time Replayer::undisturbed_until() const {
  if (!progress_.answers.empty()) return progress_.answers.next->time;
  Time until = progress_.step != nullptr ? progress_.step->until : now();
  return descent_.empty() ? until : std::min(until, descent_.back().parent_time);
}

// Lets the guest run up to the step's time, and sees that it comes to what the step's input answers.
Replayer::StretchEnd Replayer::play_to(const trace::Step& step) {
  if (step.input == nullptr && now() >= step.until) return StretchEnd::reached;
  while (now() < step.until) {
    if (now() >= wake_at_) {
      wake();
      continue;
    }
    engine::Stop stop = run_guest(most_towards(step));
    if (std::optional<StretchEnd> end = take_stop(stop, step)) return *end;
  }
  check_arrival(step);
  return StretchEnd::reached;
}

// How many instructions the guest may run at once.
uint64_t Replayer::most_towards(const trace::Step& step) const {
  uint64_t left = step.until - now();
  if (wake_at_ < step.until) return wake_at_ - now();
  // The guest stops by itself where it asks for these, and the way to an exact time is stepped.
  bool stops_by_itself = is_of(step, trace::InputKind::instruction) || is_of(step, trace::InputKind::syscall);
  return stops_by_itself ? left + std::min(kBeyondCall, UINT64_MAX - left) : left;
}

// Why the guest has stopped; nothing if it goes on to the step's time.
std::optional<Replayer::StretchEnd> Replayer::take_stop(const engine::Stop& stop, const trace::Step& step) {
  switch (stop.reason) {
  case engine::StopReason::limit:
  case engine::StopReason::interrupted:
    return std::nullopt;
  case engine::StopReason::system_call:
    take_call(step);
    return std::nullopt;
  case engine::StopReason::input:
    if (!is_of(step, trace::InputKind::instruction) || now() + 1 != step.until)
      differ("no input instruction", "one");
    current().at_input = true;
    return StretchEnd::reached;
  case engine::StopReason::fault:
    // A breakpoint instruction is executed, and its signal comes at the time after it.
    if (now() == step.until && is_of(step, trace::InputKind::signal) &&
        step.input->as<trace::SignalInput>().number == stop.fault.signal)
      return StretchEnd::reached;
    differ("no fault", fmt::format("signal {} for address {}", stop.fault.signal, stop.fault.info.si_addr));
  case engine::StopReason::address:
    return StretchEnd::address;
  case engine::StopReason::access:
    progress_.access = stop.access;
    return StretchEnd::access;
  case engine::StopReason::written:
    progress_.access = stop.access;
    return StretchEnd::written;
  }
  bug("the engine has stopped for no reason");
}

// The guest has made a system call: one that was taken from the log ahead of time, or the step's.
void Replayer::take_call(const trace::Step& step) {
  const FastAnswers& answers = progress_.answers;
  current().at_call = true;
  if (!answers.empty() && answers.next->time == now()) {
    answer_long_way();
    return;
  }
  if (now() == step.until && answers.empty()) return;
  differ(fmt::format("no input before time {}", step.until.value),
         describe_call(registers().gpr[engine::RAX], current_call().arguments, std::nullopt,
                       guest::SpaceView(space())));
}

// The step's time has come. The guest must have made every call before, and not have run past the time.
void Replayer::check_arrival(const trace::Step& step) {
  const FastAnswers& answers = progress_.answers;
  if (!answers.empty())
    differ(fmt::format("system call {} at time {}", answers.next->call.number, answers.next->time.value),
           "none");
  if (now() > step.until)
    differ(is_of(step, trace::InputKind::syscall)
               ? fmt::format("system call {}", step.input->as<trace::SyscallInput>().number)
               : "an input instruction",
           fmt::format("none by time {}", now().value));
  if (step.input != nullptr && is_fault(*step.input)) translator().call_hook_of_fault();
}

// A recorder learns that other programs have written to mapped files after the program could see it: what is
// left of the log may say so.
void Replayer::look_for_outside_write() {
  while (const trace::Step* step = run_.next()) {
    if (!is_of(*step, trace::InputKind::map)) continue;
    const auto& map = step->input->as<trace::MapInput>();
    if (map.op == trace::MapOp::advise && map.flags == trace::kWrittenOutside) shared_with_others_ = map.path;
  }
}

void Replayer::differ(const std::string& expected, const std::string& found) {
  Time time = now();
  look_for_outside_write();
  throw Divergence(fmt::format(
      "the replay differs from the recording at time {}, thread {}, pc {:#x}: expected {}, found {}",
      time.value, thread_.value, registers().rip, expected, found));
}

void Replayer::on_fault(int signal, siginfo_t* info, void* context) {
  constexpr int kTrapPerf = 6; // TRAP_PERF: a breakpoint of the CPU
  if (signal == SIGTRAP && info->si_code == kTrapPerf) {
    if (translator().handle_write_trap(context)) return;
    for (Observer* observer : observers_)
      observer->host_wrote(*this, GuestAddr(reinterpret_cast<uint64_t>(info->si_addr)));
    return;
  }
  if (is_forbidden_call(signal, *info)) report_forbidden_call(*info);
  for (Observer* observer : observers_)
    if (observer->host_fault(*this, signal, info, context)) return;
  if (engine().handle_signal(signal, info, context)) return;
  guest::report_host_fault(signal, info, context, registers().rip, engine().executed());
}

void Replayer::on_asynchronous(int signal, siginfo_t*, void* context) {
  // Debug code's libc gives up. What has been printed goes first: anything else may be what debug code has
  // broken, beginning with the list of observers.
  if (signal == SIGABRT && __fpending(stdout) != 0) fflush_unlocked(stdout);
  for (Observer* observer : observers_)
    observer->interrupted(*this, signal, context);
}

} // namespace rdb::replay
