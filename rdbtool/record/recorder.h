// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recording side of a live process: performs calls with their output going to scratch memory, puts it
// into guest memory by the same routine as replay, and appends everything to the log.
#pragma once

#include "rdbtool/guest/process/process.h"
#include "rdbtool/record/descriptors.h"
#include "rdbtool/record/fast_syscall.h"
#include "rdbtool/record/kill_calls.h"
#include "rdbtool/record/mapped_files.h"
#include "rdbtool/record/output_order.h"
#include "rdbtool/record/output_snapshot.h"
#include "rdbtool/record/outside_writers.h"
#include "rdbtool/record/page_check.h"
#include "rdbtool/record/partial_work_log.h"
#include "rdbtool/record/read_into_itself.h"
#include "rdbtool/record/shared_files.h"
#include "rdbtool/record/shared_pages.h"
#include "rdbtool/record/spliced_output.h"
#include "rdbtool/syscalls/redirected_call.h"
#include "rdbtool/trace/ring/log_producer.h"

#include <map>
#include <utility>
#include <vector>

namespace rdb::record {

struct RecorderOptions {
  trace::ProcessOrigin origin = trace::ProcessOrigin::spawned;
  Time origin_time;               // when the process called execve
  uint64_t checksum_interval = 0; // instructions between hashes of the whole state; 0: none
  bool check_pages = false;       // look whether a call changes memory that the table does not say
};

class Recorder final : public guest::Outside {
public:
  Recorder(trace::LogProducer& log, const RecorderOptions& options);

  void started(guest::Process& process) override;
  void reached_call(guest::Process& process) override;
  int64_t call(guest::Process& process, const guest::SystemCall& call, const CallShape& shape) override;
  void called(guest::Process& process, const guest::SystemCall& call, int64_t result) override;
  int64_t answered(guest::Process& process, const guest::SystemCall& call,
                   const guest::Answer& answer) override;
  void mapped(guest::Process& process, const guest::Mapping& mapping, int fd) override;
  void remapped(guest::Process& process, const guest::SystemCall& call, int64_t result) override;
  engine::Engine::InputResult instruction(guest::Process& process, engine::InputInstruction kind) override;
  void signalled(guest::Process& process, const guest::PendingSignal& signal) override;
  bool reach(guest::Process& process, const engine::Fault& fault) override;
  uint64_t stretch(guest::Process& process) override;
  void thread_started(guest::Process& process, const guest::Thread& created, uint64_t clone_flags) override;
  void thread_ended(guest::Process& process, int status) override;
  void wrote(guest::Process& process, GuestAddr address, const void* bytes, size_t size) override;
  void turn_ended(guest::Process& process) override;
  void ended(guest::Process& process, const guest::Ending& ending) override;
  void failed(guest::Process& process, const std::string& why) override;
  void before_fork(guest::Process& process) override;
  void after_fork(guest::Process& process, int64_t result) override;
  void before_exec(guest::Process& process, const guest::SystemCall& call,
                   guest::Handover& handover) override;
  void exec_failed(guest::Process& process, int64_t result) override;
  engine::FastSyscall make_fast_syscall(guest::Process& process) override;

private:
  void log_start(guest::Process& process, trace::ProcessOrigin origin, Time origin_time);
  void log_end(guest::Process& process, const trace::ExitInput& exit);
  void log_call(guest::Process& process, const guest::SystemCall& call, int64_t result,
                std::span<const MemoryWrite> writes, trace::OutputStream output = trace::OutputStream::none);
  void log_output(guest::Process& process, trace::OutputStream stream, const std::vector<uint8_t>& bytes);
  void log_mapping(guest::Process& process, const guest::Mapping& mapping, int fd);
  void log_initial_memory(guest::Process& process);
  void checksum(guest::Process& process);
  // What belongs to the call that a thread is in; several may be in calls at the same time.
  struct CallState {
    ScratchArena arena;
    RedirectedCall redirected{arena};
    FileChange file_change;
    OutputTarget output;
    OutputBytes output_bytes;
    PassedOutput passed_output;
    SharedPages::Arguments shared_arguments;
    ReadIntoItself read_into_itself;
  };
  CallState& state_of(guest::Process& process);
  int64_t perform(guest::Process& process, const guest::SystemCall& call, const CallShape& shape,
                  CallState& state, const SyscallArgs& arguments, bool keeps_baton);
  bool keeps_baton(const guest::Process& process, const guest::SystemCall& call, const CallShape& shape);
  int64_t kill_by(guest::Process& process, const guest::SystemCall& call, KillCall kill);
  int64_t wait_for_lock(guest::Process& process, const CallShape& shape, const guest::SystemCall& call,
                        const SyscallArgs& reachable);
  // What a call did to memory beside its result: memory_calls.cc.
  using Parts = std::vector<guest::Mapping>;
  static void add_cut_off(guest::Process& process, uint64_t begin, uint64_t end, Parts& parts);
  static Parts cut_off(guest::Process& process, const guest::SystemCall& call);
  static Parts cut_off_frame(guest::Process& process, const guest::PendingSignal& signal);
  static Parts cut_off_return(guest::Process& process);
  void log_protection(guest::Process& process, const guest::Mapping& part, int protection);
  void log_without(guest::Process& process, const Parts& missing, const guest::SystemCall& call,
                   int64_t result);
  enum class Views : uint8_t { of_the_file, of_the_same_part };
  static void check_other_views(const guest::AddressSpace& space, const guest::Mapping& mapping, Views which);
  static void check_protected(const guest::AddressSpace& space, const guest::SystemCall& call);
  void check_moved(guest::Process& process, const guest::SystemCall& call, int64_t result);
  void log_memory_effects(guest::Process& process, const guest::SystemCall& call, int64_t result);
  void log_foreign(guest::Process& process, uint64_t begin, uint64_t end);
  void log_moved(guest::Process& process, const guest::SystemCall& call, uint64_t target);
  void log_pages(guest::Process& process, uint64_t begin, uint64_t end);
  void log_after_end(guest::Process& process, const guest::Mapping& mapping, int fd);
  void log_anew(guest::Process& process, uint64_t begin, uint64_t end);
  void log_hidden_effects(guest::Process& process, const guest::SystemCall& call, int64_t result,
                          CallState& state);
  // An append failed: the recording ends here, the program is told nothing and goes on no further.
  void check(bool appended);

  trace::LogProducer& log_;
  trace::ProducerEnds child_ends_; // between before_fork() and after_fork()
  RecorderOptions options_;
  std::map<ThreadId, CallState> calls_;
  uint64_t turn_begin_ = 0;
  uint64_t next_checksum_ = 0;
  std::vector<trace::MemoryWrite> writes_;
  Descriptors descriptors_;
  OutputOrder order_;
  SharedPages shared_;
  SharedFiles shared_files_;
  OutsideWriters outside_writers_;
  PageCheck page_check_;
  PartialWorkLog partial_work_;
  FastRecorder fast_;
};

} // namespace rdb::record
