// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The debugger's target over a run that is kept as an array. It finds stops by looking at one state after the
// other, in either direction, and so says what every other target must say.
#pragma once

#include "tests/gdb/stepped_run.h"

namespace rdb::gdb {

class SteppedTarget : public Target {
public:
  explicit SteppedTarget(SteppedRun run);

  Position position() override { return run_.states[now_].at; }
  bool input_pending() override { return run_.states[now_].input_pending; }
  ThreadId current_thread() override { return run_.states[now_].next; }
  Position first_position() override { return run_.states.front().at; }
  Position last_position() override { return run_.states.back().at; }
  ProgramEnd ending() override { return run_.ending; }
  int32_t pid() override { return run_.pid; }

  StopEvent run(const RunRequest& request) override;
  using Target::seek;
  StopEvent seek(Position position, InterruptSource* interrupt) override;

  std::vector<ThreadInfo> threads() override;
  bool has_thread(ThreadId thread) override;
  ThreadRegisters registers(ThreadId thread) override;
  size_t read_memory(GuestAddr from, std::span<std::byte> to) override;
  std::vector<MemoryRegion> mappings() override { return run_.mappings; }
  uint64_t state_hash() override;
  std::array<std::byte, 128> siginfo(ThreadId thread) override;

  Bytes auxv() override { return run_.auxv; }
  std::string executable() override { return run_.argv[0]; }
  std::vector<std::string> command_line() override { return run_.argv; }
  std::unique_ptr<RecordedFile> open_file(const std::string& path) override;

  void begin_diversion() override;
  void end_diversion() override { diversion_.reset(); }
  void write_registers(ThreadId thread, const ThreadRegisters& registers) override;
  size_t write_memory(GuestAddr to, std::span<const std::byte> from) override;
  StopEvent run_diversion(ThreadId thread, const RunRequest& request) override;

private:
  void forward();
  void backward();
  std::optional<StopEvent> arrival(const StopPoints& stops);
  std::optional<StopEvent> breakpoint_here(const StopPoints& stops);
  std::optional<StopEvent> watchpoint(const StopPoints& stops, const SteppedRun::Step& step);
  bool breaks(const Breakpoint& breakpoint, ThreadId thread);
  StopEvent run_forward(const RunRequest& request, const StopPoints& stops);
  StopEvent run_backward(const RunRequest& request, const StopPoints& stops);
  const ThreadRegisters& known_registers(ThreadId thread) const;

  SteppedRun run_;
  size_t now_ = 0;
  std::map<uint64_t, Bytes> memory_; // at now_
  std::unique_ptr<Tracee> diversion_;
};

} // namespace rdb::gdb
