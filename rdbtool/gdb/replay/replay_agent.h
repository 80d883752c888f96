// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The side of the debugger that is inside a replay process: it moves the replay forwards, finds stops on the
// way, and shows the guest's state. It serves one socket; a snapshot is a fork of it that serves another.
#pragma once

#include "rdbtool/gdb/replay/replay_messages.h"
#include "rdbtool/replay/diversion.h"
#include "rdbtool/replay/replay_stops.h"
#include "rdbtool/replay/replayer.h"

#include <functional>
#include <map>
#include <memory>

namespace rdb::gdb {

// Adds to a replay what looks on while time passes forwards, such as debug regions. What it returns lives as
// long as the replay.
using AddObservers = std::function<std::shared_ptr<void>(replay::Replayer&)>;

class ReplayAgent : private replay::OutputSink {
public:
  // `debug_output` is a file for what debug code prints, which the controller can read, too; it is empty
  // whenever a copy of this process is made.
  ReplayAgent(const trace::TraceReader& trace, const trace::ProcessInfo& process,
              const AddObservers& observers, int debug_output);

  // Answers requests until the other side is gone.
  [[noreturn]] void serve(int fd);

private:
  // replay_agent.cc: requests
  void handle(ReplayCommand command, Message& request, Message& reply);
  void go_to_first_position();
  ThreadRegisters registers(ThreadId thread);
  void set_registers(ThreadId thread, const ThreadRegisters& registers);
  size_t read(GuestAddr from, std::span<std::byte> to);
  void put_mappings(Message& reply);
  std::array<std::byte, 128> siginfo(ThreadId thread);
  void output(trace::OutputStream stream, const void* bytes, size_t size) override;
  void capture_debug_output();
  void take_debug_output();

  // replay_advance.cc: moving
  struct Advancing {
    const Advance& request;
    Advanced reply;
    bool passes_breakpoint = false; // a breakpoint at this position was looked at
    // A step of a system call ends when its result is there, as on a live program.
    bool waits_for_result = false;
  };
  // From one position to another: an input was applied, or instructions executed.
  struct Move {
    Position before;
    std::optional<StopEvent> touched; // a watchpoint
    std::optional<ThreadId> ran;      // the thread that executed something
    bool to_handler = false;          // the thread that is stepped comes to a signal's handler
  };
  Advanced advance(const Advance& request);
  Advanced::Kind advance_until_stop(Advancing& run);
  bool take(Advancing& run, std::optional<StopEvent> stop, Position at);
  void apply_one(const Advancing& run, Move& move);
  bool execute_some(Advancing& run, Move& move);
  bool judge(Advancing& run, const Move& move);
  bool ends_step(Advancing& run, bool moved);
  void report(Advanced& reply);
  Position here() const { return {time_, ordinal_}; }
  bool at_limit(Position limit) const;
  void set_stops(const StopPoints& stops);
  void after_instructions(ThreadId ran);
  bool in_call(ThreadId thread);
  uint64_t pc_of(ThreadId thread);
  void settle();
  void apply_pending();
  std::optional<StopEvent> arrival(const StopPoints& stops);
  std::optional<StopEvent> breakpoint_here(const StopPoints& stops);
  std::optional<StopEvent> next_instruction_touches(const StopPoints& stops);
  std::optional<StopEvent> pending_input_touches(const StopPoints& stops);

  // replay_diversion.cc: running with nothing recorded
  Advanced run_diversion(const Advance& request);

  static constexpr Position kNever{Time(UINT64_MAX), 0};

  replay::Replayer replayer_;
  replay::ReplayStops stops_{replayer_};
  replay::Diversion diversion_{replayer_};

  // The position, and what is known about it.
  Time time_;
  uint32_t ordinal_ = 0;                  // inputs applied at this time
  const trace::Input* pending_ = nullptr; // the next thing, if it is an input of this time
  bool ended_ = false;
  struct ThreadCall {
    ThreadId thread;
    int64_t number;
  };
  std::optional<ThreadCall> entered_;   // the system call that has just been made
  std::optional<ThreadCall> returned_;  // the one whose result has just been applied
  std::optional<ThreadCall> returning_; // one of which a part has
  std::map<ThreadId, std::array<std::byte, 128>> last_siginfo_;
  std::map<ThreadId, uint64_t> diverted_; // orig_rax of the threads whose registers were written

  std::shared_ptr<void> observers_;
  int debug_output_ = -1; // what debug code has printed since the last look
  Position show_from_ = kNever;
  std::string output_;
};

} // namespace rdb::gdb
