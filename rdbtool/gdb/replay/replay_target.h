// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recording as the debugger's target. This process holds no guest: it controls replay processes, one that
// is where the user is, and snapshots behind it. Going backwards is replaying the stretch from the snapshot
// before and remembering the last thing on it that would have stopped the run.
#pragma once

#include "rdbtool/base/failure.h"
#include "rdbtool/base/owned_fd.h"
#include "rdbtool/gdb/protocol/target.h"
#include "rdbtool/gdb/replay/replay_agent.h"
#include "rdbtool/gdb/replay/snapshots.h"
#include "rdbtool/trace/trace_reader.h"

#include <memory>

namespace rdb::gdb {

struct ReplayTargetOptions {
  std::string trace;   // as rdb replay takes it
  std::string process; // its name, as rdb ps shows it; empty: the first
  Snapshots::Limits snapshots;
  AddObservers observers; // called in the first replay process; may be empty
};

class ReplayTarget : public Target {
public:
  // Throws UserError if there is no such recording or process.
  explicit ReplayTarget(const ReplayTargetOptions& options);
  ~ReplayTarget() override;

  const trace::TraceReader& trace() const { return trace_; }
  // What went wrong first while the recording was played, and damage of it that was come to.
  const std::optional<Failure>& failure() const { return failure_; }
  bool has_failed() override { return failure_ && failure_->text != damage_; }

  Position position() override { return here_; }
  bool input_pending() override { return input_pending_; }
  ThreadId current_thread() override { return thread_; }
  Position first_position() override { return first_; }
  Position last_position() override { return last_; }
  ProgramEnd ending() override;
  int32_t pid() override { return process_.pid; }

  StopEvent run(const RunRequest& request) override;
  using Target::seek;
  StopEvent seek(Position position, InterruptSource* interrupt) override;

  std::vector<ThreadInfo> threads() override;
  bool has_thread(ThreadId thread) override;
  ThreadRegisters registers(ThreadId thread) override;
  size_t read_memory(GuestAddr from, std::span<std::byte> to) override;
  std::vector<MemoryRegion> mappings() override;
  uint64_t state_hash() override;
  std::array<std::byte, 128> siginfo(ThreadId thread) override;

  Bytes auxv() override { return auxv_; }
  std::string executable() override { return process_.program; }
  std::vector<std::string> command_line() override { return trace_.metadata().command; }
  std::unique_ptr<RecordedFile> open_file(const std::string& path) override;

  void begin_diversion() override;
  void end_diversion() override { diversion_ = {}; }
  void write_registers(ThreadId thread, const ThreadRegisters& registers) override;
  size_t write_memory(GuestAddr to, std::span<const std::byte> from) override;
  StopEvent run_diversion(ThreadId thread, const RunRequest& request) override;

private:
  void start_first_process(const AddObservers& observers);
  Bytes read_auxv();
  ReplayProcess& shown() { return diversion_ ? diversion_ : worker_; }
  Message ask(ReplayProcess& process, ReplayCommand command, const Message& arguments);
  void check_replayable() const;
  std::string end_text(); // why there is no more
  std::string damage();   // of the recording; empty: there is none
  void make_debug_output();
  std::string last_words() const;
  Failure explained(const std::exception& error) const;
  [[noreturn]] void give_up_move(const std::exception& error);
  bool go_again(Position position);
  void take(const Advanced& reply);
  const std::vector<ThreadId>& thread_ids();
  StopEvent run_forward(const RunRequest& request);
  StopEvent run_backward(const RunRequest& request);
  std::optional<StopEvent> step_back(ThreadId thread, const StopPoints& stops);
  StopEvent go_back(const RunRequest& request, Position end);
  std::optional<std::pair<Position, StopEvent>> last_stop(Position from, Position end,
                                                          const RunRequest& request, bool& interrupted);
  // False if it was interrupted on the way.
  bool go_to(Position position, InterruptSource* interrupt = nullptr);
  StopEvent here_as(StopKind kind, std::string message = {});

  trace::TraceReader trace_;
  trace::ProcessInfo process_;
  OwnedFd debug_output_; // of the replay processes, as far as they have not taken it; none without debug code
  std::optional<Failure> failure_;
  std::optional<std::string> damage_; // once it was looked for
  Snapshots snapshots_;
  ReplayProcess worker_, diversion_;
  Position here_, first_, last_;
  bool input_pending_ = false;
  ThreadId thread_;
  std::vector<ThreadId> threads_; // of this position; empty: not asked for yet
  Position shown_until_;
  Bytes auxv_;
  GuestAddr stack_;                               // the first address of it that was used
  std::map<std::string, trace::ContentId> files_; // by the path they were mapped under
};

} // namespace rdb::gdb
