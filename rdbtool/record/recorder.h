// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recording side of a live process. As its executor, it makes calls with their output going to scratch
// memory, puts that into guest memory by the same routine as replay, and logs it (recorder_calls.cc). As its
// listener, it logs everything else that a replay cannot find out by itself (recorder.cc, memory_calls.cc).
#pragma once

#include "rdbtool/guest/calls/syscall_executor.h"
#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_listener.h"
#include "rdbtool/record/descriptors.h"
#include "rdbtool/record/fast_syscall.h"
#include "rdbtool/record/file_change_notice.h"
#include "rdbtool/record/kill_calls.h"
#include "rdbtool/record/mapped_files.h"
#include "rdbtool/record/output_order.h"
#include "rdbtool/record/output_snapshot.h"
#include "rdbtool/record/outside_writers.h"
#include "rdbtool/record/page_check.h"
#include "rdbtool/record/partial_work_log.h"
#include "rdbtool/record/read_into_itself.h"
#include "rdbtool/record/recorded_baton.h"
#include "rdbtool/record/shared_memory/shared_files.h"
#include "rdbtool/record/shared_memory/shared_pages.h"
#include "rdbtool/record/spliced_output.h"
#include "rdbtool/record/turn_log.h"
#include "rdbtool/syscalls/redirected_call.h"
#include "rdbtool/trace/ring/log_producer.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rdb::record {

struct RecorderOptions {
  trace::ProcessOrigin origin = trace::ProcessOrigin::spawned;
  Time origin_time;               // when the process called execve
  uint64_t checksum_interval = 0; // instructions between hashes of the whole state; 0: none
  bool check_pages = false;       // look whether a call changes memory that the table does not say
};

class Recorder final : public guest::SyscallExecutor, public guest::ProcessListener {
public:
  Recorder(trace::LogProducer& log, const RecorderOptions& options);

  // As the executor: recorder_calls.cc.
  int64_t execute(guest::Machine& machine, const guest::SystemCall& call, const CallShape& shape,
                  guest::Baton& baton) override;
  int64_t deliver(guest::Machine& machine, const guest::SystemCall& call,
                  const guest::ComputedAnswer& answer) override;
  engine::Engine::InputResult execute_instruction(guest::Machine& machine,
                                                  engine::InputInstruction kind) override;
  engine::FastSyscall fast_path(guest::Machine& machine, const guest::SeccompFilters& filters) override;

  // As the listener.
  void on_start(guest::Machine& machine) override;
  void on_end(guest::Machine& machine, const guest::Ending& ending) override;
  void on_failure(const std::string& why) override;
  uint64_t on_run(guest::Machine& machine) override;
  void on_turn_end(guest::Machine& machine) override;
  void on_syscall_entry(guest::Machine& machine) override;
  void on_memory_call(guest::Machine& machine, const guest::SystemCall& call) override;
  void on_syscall_exit(guest::Machine& machine, const guest::SystemCall& call, int64_t result) override;
  void on_mapping(guest::Machine& machine, const guest::Mapping& mapping, int fd) override;
  void on_remapping(guest::Machine& machine, const guest::SystemCall& call, int64_t result) override;
  void on_memory_write(guest::Machine& machine, GuestAddr address, const void* bytes, size_t size) override;
  bool on_unreachable_memory(guest::Machine& machine, const engine::Fault& fault) override;
  void on_signal(guest::Machine& machine, const guest::PendingSignal& signal) override;
  void on_thread_start(guest::Machine& machine, const guest::Thread& created, uint64_t clone_flags) override;
  void on_thread_end(guest::Machine& machine, int status) override;
  void before_fork(guest::Machine& machine) override;
  void after_fork(guest::Machine& machine, int64_t result) override;
  void before_exec(guest::Machine& machine, const guest::SystemCall& call,
                   guest::Handover& handover) override;
  void on_exec_failure(guest::Machine& machine, int64_t result) override;

private:
  void log_outside_write(const std::string& name);
  void log_start(guest::Machine& machine, trace::ProcessOrigin origin, Time origin_time);
  void log_end(guest::Machine& machine, const trace::ExitInput& exit);
  void log_call(guest::Machine& machine, const guest::SystemCall& call, int64_t result,
                std::span<const MemoryWrite> writes, trace::OutputStream output = trace::OutputStream::none,
                std::optional<uint32_t> data_hash = {});
  void log_output(guest::Machine& machine, trace::OutputStream stream, const std::vector<uint8_t>& bytes);
  void log_mapping(guest::Machine& machine, const guest::Mapping& mapping, int fd);
  void log_initial_memory(guest::Machine& machine);
  void checksum(guest::Machine& machine);
  // What belongs to the call that a thread is in; several may be in calls at the same time.
  struct CallState {
    ScratchArena arena;
    RedirectedCall redirected{arena};
    FileChange file_change;
    bool told_of_change = false; // to other processes, who hold on for it
    OutputTarget output;
    OutputBytes output_bytes;
    PassedOutput passed_output;
    SharedPages::Arguments shared_arguments;
    ReadIntoItself read_into_itself;
  };
  CallState& state_of(guest::Machine& machine);
  // A call that is being executed.
  struct Execution {
    guest::Machine& machine;
    const guest::SystemCall& call;
    const CallShape& shape;
    CallState& state;
    RecordedBaton baton;
    guest::SpaceView view; // for the redirected call
    bool keeps_baton;      // the call is over at once
  };
  static trace::OutputStream written_by(const Execution& it);
  SyscallArgs prepare(Execution& it);
  void tell_of_change(Execution& it);
  int64_t make_call(Execution& it, const SyscallArgs& arguments);
  bool take_shared(Execution& it, SyscallArgs& reachable, bool changes_file);
  void put_and_log(Execution& it, int64_t result);
  std::optional<uint32_t> hash_data(Execution& it, int64_t result);
  bool keeps_baton(const guest::Machine& machine, const guest::SystemCall& call, const CallShape& shape,
                   const guest::Baton& baton);
  int64_t kill_by(guest::Machine& machine, const guest::SystemCall& call, KillCall kill);
  // What a call did to memory beside its result: memory_calls.cc.
  using Parts = std::vector<guest::Mapping>;
  static void add_cut_off(guest::Machine& machine, uint64_t begin, uint64_t end, Parts& parts);
  static Parts cut_off(guest::Machine& machine, const guest::SystemCall& call);
  static Parts cut_off_frame(guest::Machine& machine, const guest::PendingSignal& signal);
  static Parts cut_off_return(guest::Machine& machine);
  void log_protection(guest::Machine& machine, const guest::Mapping& part, int protection);
  void log_without(guest::Machine& machine, const Parts& missing, const guest::SystemCall& call,
                   int64_t result);
  // Memory that is mapped at several places: memory_views.cc. True if the mapping is such.
  bool log_as_view(guest::Machine& machine, const guest::Mapping& mapping);
  void log_view(guest::Machine& machine, trace::MapOp op, const guest::Mapping& mapping, uint64_t object);
  uint64_t object_of(guest::Machine& machine, const std::vector<guest::Mapping>& mappings);
  void join_protected(guest::Machine& machine, const guest::SystemCall& call);
  void join_same_part(guest::Machine& machine, const guest::Mapping& mapping);
  bool is_view(const guest::Mapping& mapping) const;
  void refuse_fork_with_views(const guest::AddressSpace& space) const;
  void check_moved(guest::Machine& machine, const guest::SystemCall& call, int64_t result);
  void log_memory_effects(guest::Machine& machine, const guest::SystemCall& call, int64_t result);
  void log_foreign(guest::Machine& machine, uint64_t begin, uint64_t end);
  void log_moved(guest::Machine& machine, const guest::SystemCall& call, uint64_t target);
  void log_pages(guest::Machine& machine, uint64_t begin, uint64_t end);
  void take_file_changes(guest::Machine& machine);
  void log_file_part(guest::Machine& machine, const trace::FilePart& part, uint64_t but);
  void log_removed(guest::Machine& machine, uint64_t begin, uint64_t end);
  void end_removal();
  void log_last_pages(guest::Machine& machine);
  void log_after_end(guest::Machine& machine, const guest::Mapping& mapping, int fd);
  void log_anew(guest::Machine& machine, uint64_t begin, uint64_t end);
  void log_hidden_effects(guest::Machine& machine, const guest::SystemCall& call, int64_t result,
                          CallState& state);

  trace::LogProducer& log_;
  guest::Machine* machine_ = nullptr; // the one that is recorded
  trace::ProducerEnds child_ends_;    // between before_fork() and after_fork()
  RecorderOptions options_;
  std::map<ThreadId, CallState> calls_;
  uint64_t next_checksum_ = 0;
  Descriptors descriptors_;
  OutputOrder order_;
  SharedPages shared_;
  SharedFiles shared_files_;
  OutsideWriters outside_writers_;
  // Objects that are mapped at several places, by device and inode.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> objects_;
  FileChangeNotice change_notice_;
  bool has_relatives_ = options_.origin != trace::ProcessOrigin::spawned; // other recorded processes
  unsigned watchful_runs_ = 0; // the next ones, since relatives have changed a file that is mapped
  std::optional<trace::FilePart> removal_; // the file that MADV_REMOVE is changing, if others know
  TurnLog turns_;
  PageCheck page_check_;
  PartialWorkLog partial_work_;
  FastRecorder fast_;
};

} // namespace rdb::record
