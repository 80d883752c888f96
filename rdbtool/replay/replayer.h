// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recorded process, run again: the machine is driven by the log alone. Each input is checked against what
// the guest does, and the first difference ends the replay.
#pragma once

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/replay/answer_call_fast.h"
#include "rdbtool/replay/observer.h"
#include "rdbtool/trace/trace_reader.h"

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rdb::replay {

// The guest did something else than when it was recorded: a bug of rdb, another CPU, or a recording that
// somebody has changed.
struct Divergence : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What the guest writes to its terminal or its standard streams, at the time it wrote it.
class OutputSink {
public:
  virtual ~OutputSink() = default;
  virtual void output(trace::OutputStream stream, const void* bytes, size_t size) = 0;
};

// The beginning of a file in guest memory, and the trace's copy of it.
struct LoadedFile {
  GuestAddr begin;
  std::string path; // what it was called
  std::string copy; // where the trace keeps it
};

struct WrittenRange {
  GuestAddr address;
  uint64_t size = 0;
};

class Replayer final : public guest::Machine, private guest::SignalReceiver {
public:
  // `sink` may be null: then output is not shown.
  Replayer(const trace::TraceReader& trace, const trace::ProcessInfo& process, OutputSink* sink);
  ~Replayer() override;

  // A forked process is replayed from the beginning of its first ancestor on: calls `then` when its own log
  // begins. False if it does at once.
  bool when_own_log_begins(std::function<void()> then);
  // Before run(); told in this order.
  void add_observer(Observer& observer);
  // Whether observers want to hear of every input. While nobody does, before_input() and after_input() may
  // leave some out.
  void tell_inputs(bool wanted);
  // Tells the observers when this time has come, once. Also from within hooks.
  void wake_at(Time time);
  // What observers want to be told has changed: they bring that in order before the guest goes on.
  void ask_to_settle() { unsettled_ = true; }
  void settle() {
    if (unsettled_) settle_observers();
  }
  OutputSink* sink() const { return sink_; }
  const trace::TraceReader& trace() const { return trace_; }
  // Every file whose beginning is mapped now.
  std::vector<LoadedFile> mapped_files() const;

  // Plays until the state at `to` (all inputs up to it applied) or the end. The ending if the end was
  // reached.
  std::optional<guest::Ending> run(Time to);

  // The same in stretches, for those who look at the guest on the way. The engine's stops (at an address, at
  // an access) end a stretch, and so does every input, before it is applied and after.
  enum class StretchEnd : uint8_t {
    reached, // the state at `to`
    input,   // the guest has come to `input`; the next call applies it
    applied, // the input is applied
    turn,    // another thread is loaded, and goes on with the next call
    address,
    access,
    written,
    ended, // there is no more: see ending()
  };
  struct Stretch {
    StretchEnd end = StretchEnd::reached;
    const trace::Input* input = nullptr; // valid until the next call after `applied`
  };
  Stretch advance(Time to);
  const std::optional<guest::Ending>& ending() const { return ending_; }
  // True if the guest is in a system call whose result is not applied yet.
  bool in_call() const { return loaded() != nullptr && current().at_call; }

  // From a hook: until this time the thread that runs goes on by itself, as far as the log tells. Then comes
  // a system call, another thread, or a signal.
  Time undisturbed_until() const;

  // The memory that an input which is due next writes when it is applied.
  std::vector<WrittenRange> written_by(const trace::Input& input);

  // What the process had mapped shared, so that programs outside the recording could have written to it
  // unseen; empty: nothing.
  const std::string& shared_with_others() const { return shared_with_others_; }
  // Why the log ends where it does: complete, cut off ...
  const trace::LogEnd& log_end() const { return run_.end(); }
  ThreadId thread() const { return thread_; }
  // The signal that the process died of, with what the kernel said about it.
  const std::optional<guest::PendingSignal>& fatal() const { return fatal_; }

private:
  // How far the replay has come with the log's next step, which says: this thread runs until this time, and
  // then comes this input. A step goes through these states, and advance() returns at each `StretchEnd`:
  //
  //   unread     `step` is null. look_ahead() takes the system calls off the log that need no stop, and the
  //              step after them is read.
  //   under way  `step` is set. Its thread is loaded (StretchEnd::turn), and play_to() lets the guest run.
  //   The fast
  //              path answers `answers` meanwhile, and answer_long_way() those that it declines. If a stop
  //              ends this early (StretchEnd::address, access or written), the next call goes on from there.
  //   due        `input_due` is set as well (StretchEnd::input). The time has come, and the guest has done
  //   what the
  //              input answers. If that is a system call or an input instruction, its thread is in the middle
  //              of it: Thread::at_call or Thread::at_input is true until the input is applied.
  //
  // The next call applies the input (StretchEnd::applied), and the step after it is unread. A step without an
  // input, the end of a turn, is never due. Whoever wants an exact time before the step's end gets it under
  // way; where a process forks into the one that is replayed, the step is dropped, as its log ends there.
  struct StepProgress {
    const trace::Step* step = nullptr;
    bool input_due = false;
    bool undisturbed = false;             // in run(): nobody waits for single inputs
    std::vector<trace::LoggedCall> calls; // what was taken off the log before `step`
    FastAnswers answers;                  // what is left of them
    engine::Access access;                // the last that was stopped at
  };

  void enter_child();
  std::optional<guest::Ending> run_stretches(Time to);
  bool forks_before(const trace::Step* step) const;
  Stretch apply_due();
  std::optional<Stretch> play_to_fork(const trace::Step* step, Time to);
  StretchEnd play_to(const trace::Step& step);
  uint64_t most_towards(const trace::Step& step) const;
  std::optional<StretchEnd> take_stop(const engine::Stop& stop, const trace::Step& step);
  void take_call(const trace::Step& step);
  void check_arrival(const trace::Step& step);
  void look_ahead(Time to);
  void answer_long_way();
  void wake();
  void settle_observers();
  void apply(const trace::Input& input);
  void start(const trace::StartInput& start);
  void start_thread(const trace::ThreadStartInput& start);
  bool turn_to(ThreadId thread);
  void map(const trace::MapInput& map);
  void map_again(const trace::MapInput& map);
  void check_object(const trace::MapInput& map) const;
  void repeat_memory_call(const guest::SystemCall& call, int64_t logged);
  void answer_call(const trace::Input& input);
  void partial(const trace::Input& input);
  void signal(const trace::SignalInput& input);
  void note_fault();
  void return_from_handler();
  void go_on_with_begun();
  void instruction(const trace::InstructionInput& input);
  void look_for_outside_write();
  void show_output(const trace::SyscallInput& input);
  void check_registers(const trace::SyscallInput& logged, const guest::SystemCall& call);
  void check_data(const trace::SyscallInput& logged, const guest::SystemCall& call);
  void write_all(std::span<const MemoryWrite> writes);
  void change_all(std::span<const MemoryWrite> writes);
  [[noreturn]] void differ(const std::string& expected, const std::string& found);

  void on_fault(int signal, siginfo_t* info, void* context) override;
  void on_asynchronous(int signal, siginfo_t* info, void* context) override;

  const trace::TraceReader& trace_;
  std::vector<trace::ProcessInfo> descent_; // the forks that are still to come, the next one last
  trace::RunReader run_;
  OutputSink* sink_;
  std::function<void()> on_own_log_;
  OutputSink* later_sink_ = nullptr; // for the process itself, not those it was forked from
  std::vector<Observer*> observers_;
  bool inputs_wanted_ = false;
  bool unsettled_ = false;
  Time wake_at_ = Time(UINT64_MAX);
  ThreadId thread_;
  StepProgress progress_;
  std::optional<guest::Ending> ending_;
  std::optional<guest::PendingSignal> fatal_;
  // Instructions that have faulted. A handler that returns to one goes on with it: what hooks it was called
  // already.
  struct Begun {
    ThreadId thread;
    uint64_t pc = 0;
    uint64_t stack = 0;
    bool goes_on = false; // the handler has returned
    Time since;           // then, or when the thread's turn came
  };
  std::vector<Begun> begun_;
  std::map<trace::ContentId, int> files_;
  std::string shared_with_others_;
  std::map<uint64_t, LoadedFile> mapped_files_; // by begin; may hold what is unmapped by now
};

} // namespace rdb::replay
