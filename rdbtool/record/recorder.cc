// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/recorder.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/log.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/guest/calls/call_output.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/host/proc_identity.h"
#include "rdbtool/guest/memory/file_holes.h"
#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/guest/process/handover.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/record/exec_handover.h"
#include "rdbtool/record/log_check.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::record {
namespace {

using guest::kPage;

// An instruction was begun and raised this; nobody sent it, nor was it made up for a bad signal frame.
bool is_fault(const guest::PendingSignal& signal) {
  if (signal.info.si_code <= 0) return false;
  switch (signal.number) {
  case SIGFPE: // whose trap is number 0
    return true;
  case SIGSEGV:
  case SIGBUS:
  case SIGILL:
  case SIGTRAP:
    return signal.trap_number != 0;
  default:
    return false;
  }
}

} // namespace

Recorder::Recorder(trace::LogProducer& log, const RecorderOptions& options)
    : log_(log), options_(options), next_checksum_(options.checksum_interval),
      shared_([this](guest::Machine& machine, GuestAddr address, const void* bytes,
                     size_t size) { on_memory_write(machine, address, bytes, size); },
              [this](const std::string& why) {
                // The others would wait for this process; they may find out the same at the same moment.
                std::string line = fmt::format("rdb: not supported: {}\n", visible_text(why));
                raw_syscall(SYS_write, guest::own_error_stream(), reinterpret_cast<int64_t>(line.data()),
                            static_cast<int64_t>(line.size()));
                log_.end_all("memory that its processes share was used in a way that cannot be recorded");
                check(false);
              }),
      outside_writers_([this](int32_t pid) { return log_.is_recorded(pid); },
                       [this](uint64_t device, uint64_t inode) { return shared_.has_file(device, inode); },
                       [this](const std::string& name) { log_outside_write(name); }),
      change_notice_(log), turns_(log, shared_) {
  if (options.checksum_interval != 0) fast_.until = next_checksum_;
}

void Recorder::log_outside_write(const std::string& name) {
  trace::MapInput note;
  note.op = trace::MapOp::advise;
  note.flags = trace::kWrittenOutside;
  note.has_file = true;
  note.path = name;
  check(log_.append(machine_->current().id, machine_->now(), note));
}

void Recorder::on_start(guest::Machine& machine) {
  machine_ = &machine;
  machine.space().on_withheld(
      [this, &machine](GuestAddr address, bool write) { return shared_.take(machine, address, write); });
  log_start(machine, options_.origin, options_.origin_time);
  log_initial_memory(machine);
  // From here on the trace has a place for the process: whoever is killed, what it does can be found there.
  check(log_.drain());
}

void Recorder::log_start(guest::Machine& machine, trace::ProcessOrigin origin, Time origin_time) {
  trace::StartInput start;
  start.origin = origin;
  start.parent_time = origin_time;
  start.pid = getpid();
  start.parent_pid = getppid();
  const engine::Registers& regs = machine.registers();
  std::memcpy(start.registers.gpr, regs.gpr, sizeof regs.gpr);
  start.registers.rip = regs.rip;
  start.registers.rflags = regs.rflags;
  start.brk = GuestAddr(machine.space().brk_begin());
  start.blocked = machine.mask();
  for (int signal = 1; signal <= 64; ++signal)
    if (machine.action(signal).handler == reinterpret_cast<uint64_t>(SIG_IGN))
      start.ignored |= 1ull << (signal - 1);
  std::string program = guest::shown_name(machine.identity().program);
  start.program = program;
  check(log_.append(machine.current().id, machine.now(), start));
  turns_.begin(machine.now());
}

void Recorder::log_initial_memory(guest::Machine& machine) {
  uint64_t sp = machine.registers().gpr[engine::RSP];
  for (const auto& [begin, mapping] : machine.space().mappings()) {
    int fd = -1;
    bool file = !(mapping.flags & MAP_ANONYMOUS);
    if (file) {
      fd = guest::open_mapped_file(mapping);
      if (fd < 0) limit("cannot open {} again to copy it into the trace", mapping.name);
    }
    log_mapping(machine, mapping, fd);
    if (fd >= 0) close(fd);
    MemoryWrite write;
    uint8_t last_page[kPage];
    if (file && mapping.protection & PROT_WRITE) {
      // The loader has cleared the end of the last page of data. There is none where the file was cut off.
      write.address = GuestAddr(mapping.end - kPage);
      write.size = kPage;
      if (machine.space().read(write.address, last_page, kPage) != kPage) continue;
    } else if (sp >= mapping.begin && sp < mapping.end) {
      write.address = GuestAddr(sp);
      write.size = mapping.end - sp;
    } else {
      continue;
    }
    write.data = write.address.ptr<const uint8_t>();
    check(log_.append(machine.current().id, machine.now(), trace::MemoryInput{}, &write, 1));
  }
}

void Recorder::log_mapping(guest::Machine& machine, const guest::Mapping& mapping, int fd) {
  trace::MapInput map;
  map.op = trace::MapOp::map;
  map.protection = static_cast<uint8_t>(mapping.protection);
  map.flags = static_cast<uint32_t>(mapping.flags);
  map.address = GuestAddr(mapping.begin);
  map.length = mapping.end - mapping.begin;
  map.offset = mapping.offset;
  map.path = mapping.name;
  if (fd >= 0) {
    map.has_file = true;
    if (!log_.store_file(fd, mapping.name.c_str(), &map.file)) {
      check(log_.stop_reason() == trace::LogStop::none);
      limit("mapping of {}: it cannot be copied into the trace", mapping.name);
    }
  }
  check(log_.append(machine.current().id, machine.now(), map));
}

void Recorder::on_mapping(guest::Machine& machine, const guest::Mapping& mapping, int fd) {
  if (mapping.flags & MAP_ANONYMOUS) { // of /dev/zero
    log_mapping(machine, mapping, -1);
    return;
  }
  if (!log_as_view(machine, mapping)) {
    log_mapping(machine, mapping, fd);
    log_after_end(machine, mapping, fd);
  }
  outside_writers_.skip_own(); // it was opened to be copied into the trace
  if (mapping.segment) log_pages(machine, mapping.begin, mapping.end);
  if (!(mapping.flags & MAP_SHARED)) return;
  shared_files_.tell(machine.space(), shared_, log_);
  outside_writers_.mapped(mapping, fd);
}

void Recorder::log_call(guest::Machine& machine, const guest::SystemCall& call, int64_t result,
                        std::span<const MemoryWrite> writes, trace::OutputStream output,
                        std::optional<uint32_t> data_hash) {
  log_line(Topic::record, "time {}, thread {}: system call {} gave {}, {} writes", machine.now().value,
           machine.current().id.value, call.number, result, writes.size());
  trace::SyscallInput input;
  input.number = static_cast<uint32_t>(call.number);
  input.result = result;
  input.output = output;
  input.hash = guest::hash_call(machine.registers());
  if (data_hash) {
    input.checks_data = true;
    input.hash = guest::join_hashes(input.hash, *data_hash);
  }
  check(log_.append(machine.current().id, machine.now(), input, writes.data(), writes.size()));
  descriptors_.after_call(call.number);
}

void Recorder::on_syscall_entry(guest::Machine& machine) {
  if (options_.checksum_interval != 0 && machine.now().value >= next_checksum_) checksum(machine);
}

void Recorder::checksum(guest::Machine& machine) {
  // It may have slept until it had them all: others may have changed files meanwhile.
  do {
    take_file_changes(machine);
    shared_.take_all(machine);
  } while (log_.is_disturbed());
  guest::StateHash hash = guest::hash_state(machine);
  outside_writers_.skip_own(); // it may have opened a mapped file to find its holes
  check(log_.append(machine.current().id, machine.now(),
                    trace::ChecksumInput{hash.memory, hash.registers, hash.pages}));
  next_checksum_ = machine.now().value + options_.checksum_interval;
  fast_.until = next_checksum_;
}

void Recorder::on_signal(guest::Machine& machine, const guest::PendingSignal& signal) {
  if (partial_work_.find(machine, signal))
    check(log_.append(machine.current().id, machine.now(), partial_work_.input(),
                      partial_work_.writes().data(), partial_work_.writes().size()));
  trace::SignalInput input;
  input.number = signal.number;
  input.synchronous = is_fault(signal);
  const guest::SignalAction& action = machine.action(signal.number);
  input.handler = GuestAddr(action.handler);
  input.action_flags = action.flags;
  input.mask = machine.mask();
  input.trap_number = signal.trap_number;
  input.error_code = signal.error_code;
  input.fault_address = GuestAddr(signal.fault_address);
  input.hash = guest::hash_registers(machine);
  std::memcpy(input.siginfo, &signal.info, sizeof input.siginfo);
  // The frame is written again in a replay, which has memory where a file was cut off here.
  Parts missing = cut_off_frame(machine, signal);
  for (const guest::Mapping& part : missing)
    log_protection(machine, part, PROT_NONE);
  check(log_.append(machine.current().id, machine.now(), input));
  for (const guest::Mapping& part : missing)
    log_protection(machine, part, part.protection);
}

bool Recorder::on_unreachable_memory(guest::Machine& machine, const engine::Fault& fault) {
  bool taken = shared_.take_for_instruction(machine, fault);
  take_file_changes(machine); // it may have slept
  return taken;
}

uint64_t Recorder::on_run(guest::Machine& machine) {
  // How long others wait at most until memory that this process has is theirs.
  constexpr uint64_t kShort = 100'000;
  // The same until they may change a file that it has mapped. To be asked costs as much as some 50,000
  // instructions; so it is asked often only where files were changed lately.
  constexpr uint64_t kMedium = 2'000'000;
  constexpr uint64_t kLong = 50'000'000;
  if (shared_.any()) {
    shared_.mark_locks_of_dead(machine);
    if (shared_.wanted()) shared_.let_go_between_instructions(machine);
  }
  // Nothing may sleep after this: others change files when nobody executes.
  take_file_changes(machine);
  if (shared_.any()) return kShort;
  if (!has_relatives_) return UINT64_MAX;
  if (watchful_runs_ == 0) return kLong;
  --watchful_runs_;
  return kMedium;
}

void Recorder::on_thread_start(guest::Machine& machine, const guest::Thread& created, uint64_t clone_flags) {
  trace::ThreadStartInput start;
  start.created = created.id;
  start.stack = GuestAddr(created.registers.gpr[engine::RSP]);
  start.tls = GuestAddr(created.registers.fs_base);
  start.clone_flags = clone_flags;
  check(log_.append(machine.current().id, machine.now(), start));
}

void Recorder::on_thread_end(guest::Machine& machine, int status) {
  check(log_.append(machine.current().id, machine.now(), trace::ThreadEndInput{status}));
  calls_.erase(machine.current().id);
}

void Recorder::on_memory_write(guest::Machine& machine, GuestAddr address, const void* bytes, size_t size) {
  MemoryWrite write{address, static_cast<const uint8_t*>(bytes), size};
  check(log_.append(machine.current().id, machine.now(), trace::MemoryInput{}, &write, 1));
}

void Recorder::on_turn_end(guest::Machine& machine) {
  turns_.end(machine);
}

void Recorder::on_end(guest::Machine& machine, const guest::Ending& ending) {
  outside_writers_.look_again();
  if (options_.checksum_interval != 0) checksum(machine);
  trace::ExitInput exit;
  exit.by_signal = ending.kind == guest::Ending::Kind::signalled;
  exit.status = ending.value;
  log_end(machine, exit);
}

void Recorder::on_failure(const std::string& why) {
  log_.give_up(why.c_str());
}

void Recorder::log_end(guest::Machine& machine, const trace::ExitInput& exit) {
  shared_.leave();
  shared_files_.tell_none(log_);
  check(log_.append(machine.current().id, machine.now(), exit));
  turns_.end(machine);
  check(log_.drain());
}

void Recorder::before_fork(guest::Machine& machine) {
  check(log_.stop_reason() == trace::LogStop::none);
  refuse_fork_with_views(machine.space());
  shared_.before_fork(machine);
  // Calls must be seen from here on: they may sleep, or need memory that another process has.
  if (shared_.any()) fast_.enabled = false;
  if (shared_files_.any()) shared_files_.tell(machine.space(), shared_, log_);
  if (!log_.prepare_child(trace::ProcessOrigin::forked, machine.now(), &child_ends_))
    limit("more processes recorded at the same time (fork at time {})", machine.now().value);
  // The lowest free descriptors are the guest's: clone may be about to give it one.
  child_ends_ = {guest::move_out_of_reach(child_ends_.ring_fd),
                 guest::move_out_of_reach(child_ends_.control_fd)};
}

void Recorder::after_fork(guest::Machine& machine, int64_t result) {
  has_relatives_ = true;
  shared_.after_fork(machine, result);
  if (result != 0) {
    guest::close_own_descriptor(child_ends_.ring_fd);
    guest::close_own_descriptor(child_ends_.control_fd);
    return;
  }
  trace::ProducerEnds old = log_.ends();
  log_.detach();
  guest::close_own_descriptor(old.ring_fd);
  guest::close_own_descriptor(old.control_fd);
  if (!log_.attach(child_ends_)) bug("cannot attach to the log");
  // Of the calls that other threads were in, nothing is left here.
  calls_.clear();
  outside_writers_.forget();
  order_.forget();
  descriptors_.forget_calls();
  log_start(machine, trace::ProcessOrigin::forked, machine.now());
  bool any = shared_files_.any();
  shared_files_.forget();
  if (any) shared_files_.tell(machine.space(), shared_, log_);
  check(log_.drain());
}

void Recorder::before_exec(guest::Machine& machine, const guest::SystemCall& call,
                           guest::Handover& handover) {
  trace::ProducerEnds ends;
  if (!log_.prepare_child(trace::ProcessOrigin::execed, machine.now(), &ends))
    limit("more processes recorded at the same time (execve at time {})", machine.now().value);
  ends = {guest::move_out_of_reach(ends.ring_fd), guest::move_out_of_reach(ends.control_fd)};
  ExecHandover{ends, machine.now(), options_.checksum_interval}.put(handover);
  // What was checked before leaves little that could still go wrong: this program's log ends here.
  log_call(machine, call, 0, {});
  log_end(machine, {});
}

void Recorder::on_exec_failure(guest::Machine& machine, int64_t result) {
  limit("execve of {} failed after all: {}", machine.identity().program,
        std::strerror(static_cast<int>(-result)));
}

} // namespace rdb::record
