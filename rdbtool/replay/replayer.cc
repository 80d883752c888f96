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
  answers_.space = &space();
  translator().set_fast_syscall(make_fast_syscall(answers_));
}

// The call that forked is reached: from here on the child's log counts.
void Replayer::enter_child() {
  const trace::ProcessInfo child = descent_.back();
  descent_.pop_back();
  if (!current().at_call) differ(fmt::format("a call that makes process {}", child.name), "none");
  keep_only_current(ThreadId(child.pid));
  if (!guest::shares_memory(current_call())) space().after_fork();
  run_ = trace_.run(child);
  held_ = nullptr;
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
  in_run_ = true;
  std::optional<guest::Ending> ending = run_stretches(to);
  in_run_ = false;
  return ending;
}

std::optional<guest::Ending> Replayer::run_stretches(Time to) {
  for (;;) {
    switch (advance(to).event) {
    case Event::reached:
    case Event::ended:
      return ending_;
    case Event::input:
    case Event::applied:
    case Event::turn:
    case Event::address:
      break;
    case Event::access:
      for (Observer* observer : observers_)
        observer->accessed(*this, access_);
      break;
    case Event::written:
      for (Observer* observer : observers_)
        observer->written(*this, access_.address);
    }
  }
}

Replayer::Stretch Replayer::advance(Time to) {
  while (!ending_) {
    if (due_) {
      due_ = false;
      const trace::Input* input = std::exchange(held_, nullptr)->input;
      for (Observer* observer : observers_)
        observer->before_input(*this, *input);
      apply(*input);
      for (Observer* observer : observers_)
        observer->after_input(*this, *input);
      return {ending_ ? Event::ended : Event::applied, input};
    }
    if (held_ == nullptr) look_ahead(to);
    const trace::Step* step = held_ != nullptr ? held_ : run_.next();
    held_ = step;
    if (!descent_.empty() && forks_before(step)) {
      Time fork_time = descent_.back().parent_time;
      // The log of the one that forked was cut off before: what came until then is not known.
      if (step == nullptr && now() < fork_time && run_.end().kind != trace::LogEnd::Kind::closed) break;
      if (step != nullptr && now() < fork_time && turn_to(step->thread)) return {Event::turn, nullptr};
      Event event = play_to({thread_, std::min(fork_time, to), nullptr});
      if (event != Event::reached || fork_time > to) return {event, nullptr};
      enter_child();
      continue;
    }
    if (step == nullptr) break;
    // The end of a turn is nobody's: its thread may have ended.
    bool goes_on = step->input != nullptr || step->until > now();
    if (goes_on && turn_to(step->thread)) return {Event::turn, nullptr};
    if (step->until > to) return {play_to({step->thread, to, nullptr}), nullptr};
    Event event = play_to(*step);
    if (event != Event::reached) return {event, nullptr};
    if (step->input != nullptr) {
      due_ = true;
      return {Event::input, step->input};
    }
    held_ = nullptr;
  }
  return {Event::ended, nullptr};
}

// Whether the fork that leads to the process comes before this step is done: its call is answered by the
// child's log.
bool Replayer::forks_before(const trace::Step* step) const {
  Time fork_time = descent_.back().parent_time;
  if (step == nullptr || step->until > fork_time) return true;
  return step->until == fork_time && step->input != nullptr &&
         step->input->kind() == trace::InputKind::syscall;
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
  if (!in_run_ || inputs_wanted_ || !descent_.empty()) return;
  calls_.clear();
  run_.take_calls(now(), to, &can_answer_fast, calls_);
  answers_.next = calls_.data();
  answers_.end = calls_.data() + calls_.size();
}

// The guest has come to the next of these calls, and something about it is not simple.
void Replayer::answer_long_way() {
  const trace::LoggedCall& logged = *answers_.next++;
  trace::Input input{
      {logged.time, 0}, thread_, logged.call, {&logged.write, logged.write.size != 0 ? 1u : 0}};
  for (Observer* observer : observers_)
    observer->before_input(*this, input);
  system_call(input);
  for (Observer* observer : observers_)
    observer->after_input(*this, input);
  space().is_plain(logged.write.address.value, logged.write.size); // it may be simple the next time
}

void Replayer::tell_inputs(bool wanted) {
  inputs_wanted_ = wanted;
  // Those that were taken from the log already are told as they come.
  translator().set_fast_syscall(wanted ? engine::FastSyscall{} : make_fast_syscall(answers_));
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

// Lets the guest run up to the step's time, and sees that it comes to what the step's input answers.
Replayer::Event Replayer::play_to(const trace::Step& step) {
  if (step.input == nullptr && now() >= step.until) return Event::reached;
  bool wants_instruction = step.input != nullptr && step.input->kind() == trace::InputKind::instruction;
  bool wants_call = step.input != nullptr && step.input->kind() == trace::InputKind::syscall;
  // The guest stops by itself where it asks for these, and the way to an exact time is stepped.
  uint64_t beyond = wants_instruction || wants_call ? kBeyondCall : 0;
  while (now() < step.until) {
    if (now() >= wake_at_) {
      wake();
      continue;
    }
    uint64_t left = step.until - now();
    uint64_t most = left + std::min(beyond, UINT64_MAX - left);
    if (wake_at_ < step.until) most = wake_at_ - now();
    engine::Stop stop = run_guest(most);
    switch (stop.reason) {
    case engine::StopReason::limit:
    case engine::StopReason::interrupted:
      break;
    case engine::StopReason::system_call:
      current().at_call = true;
      if (!answers_.empty() && answers_.next->time == now()) {
        answer_long_way();
        break;
      }
      if (now() != step.until || !answers_.empty())
        differ(fmt::format("no input before time {}", step.until.value),
               describe_call(registers().gpr[engine::RAX], current_call().arguments, std::nullopt,
                             guest::SpaceView(space())));
      break;
    case engine::StopReason::input:
      if (!wants_instruction || now() + 1 != step.until) differ("no input instruction", "one");
      current().at_input = true;
      return Event::reached;
    case engine::StopReason::fault:
      // A breakpoint instruction is executed, and its signal comes at the time behind it.
      if (now() == step.until && step.input != nullptr && step.input->kind() == trace::InputKind::signal &&
          step.input->as<trace::SignalInput>().number == stop.fault.signal)
        return Event::reached;
      differ("no fault", fmt::format("signal {} for address {}", stop.fault.signal, stop.fault.info.si_addr));
    case engine::StopReason::address:
      return Event::address;
    case engine::StopReason::access:
      access_ = stop.access;
      return Event::access;
    case engine::StopReason::written:
      access_ = stop.access;
      return Event::written;
    }
  }
  if (!answers_.empty())
    differ(fmt::format("system call {} at time {}", answers_.next->call.number, answers_.next->time.value),
           "none");
  if (now() > step.until)
    differ(wants_call ? fmt::format("system call {}", step.input->as<trace::SyscallInput>().number)
                      : "an input instruction",
           fmt::format("none by time {}", now().value));
  if (step.input != nullptr && is_fault(*step.input)) translator().call_hook_of_fault();
  return Event::reached;
}

void Replayer::differ(const std::string& expected, const std::string& found) {
  throw Divergence(fmt::format(
      "the replay differs from the recording at time {}, thread {}, pc {:#x}: expected {}, found {}",
      now().value, thread_.value, registers().rip, expected, found));
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
