// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The side of the debugger that is inside a replay process: it moves the replay forwards, finds stops on the
// way, and shows the guest's state. It serves one socket; a snapshot is a fork of it that serves another.
#pragma once

#include "rdbtool/gdb/replay_messages.h"
#include "rdbtool/replay/replayer.h"

#include <memory>
#include <set>

namespace rdb::gdb {

class ReplayAgent : private replay::OutputSink {
public:
  ReplayAgent(const trace::TraceReader& trace, const trace::ProcessInfo& process);

  // Answers requests until the other side is gone.
  [[noreturn]] void serve(int fd);

private:
  // replay_agent.cc: requests
  void handle(ReplayCommand command, Message& request, Message& reply);
  Registers registers();
  void set_registers(const Registers& registers);
  size_t read(GuestAddr from, std::span<std::byte> to);
  void put_mappings(Message& reply);
  std::array<std::byte, 128> siginfo();
  void output(trace::OutputStream stream, const void* bytes, size_t size) override;

  // replay_advance.cc: moving
  Advanced advance(const Advance& request);
  void report(Advanced& reply);
  Position here() const { return {time_, ordinal_}; }
  bool at_limit(Position limit) const;
  void set_stops(const StopPoints& stops);
  void after_instructions();
  void settle();
  void apply_pending();
  std::optional<Stop> arrival(const StopPoints& stops);
  std::optional<Stop> breakpoint_here(const StopPoints& stops);
  std::optional<Stop> next_instruction_touches(const StopPoints& stops);
  std::optional<Stop> pending_input_touches(const StopPoints& stops);

  // replay_diversion.cc: running with nothing recorded
  Advanced run_diversion(const Advance& request);
  std::optional<std::string> diverted_call();

  static constexpr Position kNever{Time(UINT64_MAX), 0};

  replay::Replayer replayer_;
  std::set<uint64_t> stops_; // that the engine knows
  bool watching_ = false;

  // The position, and what is known about it.
  Time time_;
  uint32_t ordinal_ = 0;                  // inputs applied at this time
  const trace::Input* pending_ = nullptr; // the next thing, if it is an input of this time
  bool ended_ = false;
  int64_t returned_ = -1;  // the system call whose result has just been applied
  int64_t returning_ = -1; // one of which a part has
  std::array<std::byte, 128> last_siginfo_{};

  Position show_from_ = kNever;
  std::string output_;
};

} // namespace rdb::gdb
