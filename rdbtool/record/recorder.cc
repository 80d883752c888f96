// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/recorder.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/log.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/host/proc_identity.h"
#include "rdbtool/guest/memory/file_holes.h"
#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/guest/process/handover.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/record/exec_handover.h"

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

trace::InstructionOp op_of(engine::InputInstruction kind) {
  switch (kind) {
  case engine::InputInstruction::rdtsc:
    return trace::InstructionOp::rdtsc;
  case engine::InputInstruction::rdtscp:
    return trace::InstructionOp::rdtscp;
  case engine::InputInstruction::cpuid:
    return trace::InstructionOp::cpuid;
  case engine::InputInstruction::rdrand:
    return trace::InstructionOp::rdrand;
  case engine::InputInstruction::rdseed:
    return trace::InstructionOp::rdseed;
  case engine::InputInstruction::rdpid:
    return trace::InstructionOp::rdpid;
  case engine::InputInstruction::xgetbv:
    return trace::InstructionOp::xgetbv;
  case engine::InputInstruction::none:
    break;
  }
  return trace::InstructionOp::other;
}

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
      shared_([this](guest::Process& process, GuestAddr address, const void* bytes,
                     size_t size) { wrote(process, address, bytes, size); },
              [this](const std::string& why) {
                // The others would wait for this process; they may find out the same at the same moment.
                std::string line = fmt::format("rdb: not supported: {}\n", why);
                raw_syscall(SYS_write, guest::own_error_stream(), reinterpret_cast<int64_t>(line.data()),
                            static_cast<int64_t>(line.size()));
                log_.end_all("memory that its processes share was used in a way that cannot be recorded");
                check(false);
              }),
      outside_writers_([this](int32_t pid) { return log_.is_recorded(pid); },
                       [this](uint64_t device, uint64_t inode) { return shared_.has_file(device, inode); }) {
  if (options.checksum_interval != 0) fast_.until = next_checksum_;
}

void Recorder::check(bool appended) {
  if (appended) return;
  // The parent knows why and says it; this process has nothing more to do.
  raw_syscall(SYS_exit_group, kExitFailure);
}

void Recorder::started(guest::Process& process) {
  process.space().on_withheld(
      [this, &process](GuestAddr address, bool write) { return shared_.take(process, address, write); });
  log_start(process, options_.origin, options_.origin_time);
  log_initial_memory(process);
  // From here on the trace has a place for the process: whoever is killed, what it does can be found there.
  check(log_.drain());
}

void Recorder::log_start(guest::Process& process, trace::ProcessOrigin origin, Time origin_time) {
  trace::StartInput start;
  start.origin = origin;
  start.parent_time = origin_time;
  start.pid = getpid();
  start.parent_pid = getppid();
  const engine::Registers& regs = process.registers();
  std::memcpy(start.registers.gpr, regs.gpr, sizeof regs.gpr);
  start.registers.rip = regs.rip;
  start.registers.rflags = regs.rflags;
  start.brk = GuestAddr(process.initial_brk());
  start.blocked = process.mask();
  for (int signal = 1; signal <= 64; ++signal)
    if (process.action(signal).handler == reinterpret_cast<uint64_t>(SIG_IGN))
      start.ignored |= 1ull << (signal - 1);
  std::string program = guest::shown_name(process.identity().program);
  start.program = program;
  check(log_.append(process.current().id, process.now(), start));
  turn_begin_ = process.now().value;
}

void Recorder::log_initial_memory(guest::Process& process) {
  uint64_t sp = process.registers().gpr[engine::RSP];
  for (const auto& [begin, mapping] : process.space().mappings()) {
    int fd = -1;
    bool file = !(mapping.flags & MAP_ANONYMOUS);
    if (file) {
      fd = guest::open_mapped_file(mapping);
      if (fd < 0) limit("cannot open {} again to copy it into the trace", mapping.name);
    }
    log_mapping(process, mapping, fd);
    if (fd >= 0) close(fd);
    trace::MemoryWrite write;
    uint8_t last_page[kPage];
    if (file && mapping.protection & PROT_WRITE) {
      // The loader has cleared the end of the last page of data. There is none where the file was cut off.
      write.address = GuestAddr(mapping.end - kPage);
      write.size = kPage;
      if (process.space().read(write.address, last_page, kPage) != kPage) continue;
    } else if (sp >= mapping.begin && sp < mapping.end) {
      write.address = GuestAddr(sp);
      write.size = mapping.end - sp;
    } else {
      continue;
    }
    write.data = write.address.ptr<const uint8_t>();
    check(log_.append(process.current().id, process.now(), trace::MemoryInput{}, &write, 1));
  }
}

void Recorder::log_mapping(guest::Process& process, const guest::Mapping& mapping, int fd) {
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
  check(log_.append(process.current().id, process.now(), map));
}

void Recorder::mapped(guest::Process& process, const guest::Mapping& mapping, int fd) {
  if (mapping.flags & MAP_ANONYMOUS) { // of /dev/zero
    log_mapping(process, mapping, -1);
    return;
  }
  check_other_views(process.space(), mapping, Views::of_the_file);
  log_mapping(process, mapping, fd);
  log_after_end(process, mapping, fd);
  outside_writers_.skip_own(); // it was opened to be copied into the trace
  if (mapping.segment) log_pages(process, mapping.begin, mapping.end);
  if (!(mapping.flags & MAP_SHARED)) return;
  shared_files_.tell(process.space(), shared_, log_);
  outside_writers_.mapped(mapping, fd);
}

int64_t Recorder::call(guest::Process& process, const guest::SystemCall& call, const CallShape& shape) {
  if (shape.call_class == CallClass::refused) {
    log_call(process, call, -shape.error, {});
    return -shape.error;
  }
  if (std::optional<KillCall> kill = kill_call(process, call)) return kill_by(process, call, *kill);
  CallState& state = state_of(process);
  OutputOrder::Turn output_turn(order_, process, state.output);
  const CallFacts& facts = shape.info->facts;
  bool has_output = facts.output_arg != kNoArgument;
  auto output_arg = static_cast<size_t>(facts.output_arg);
  bool keeps = keeps_baton(process, call, shape);
  if (has_output)
    if (int64_t over = output_turn.begin(call, output_arg, descriptors_, keeps); over != 0) {
      log_call(process, call, over, {});
      return over;
    }
  SyscallArgs arguments = call.arguments;
  bool direct = state.read_into_itself.find(call, descriptors_, process.space());
  bool redirect = !direct && needs_redirect(static_cast<uint64_t>(call.number));
  guest::SpaceView view(process.space());
  if (direct) arguments = state.read_into_itself.arguments(call);
  if (redirect) arguments = state.redirected.prepare(shape, call.arguments, view);
  if (has_output) arguments[output_arg] = static_cast<uint64_t>(state.output.descriptor());
  trace::OutputStream written =
      facts.writes != DataForm::none ? state.output.stream() : trace::OutputStream::none;
  state.output_bytes.forget();
  // Others may change the bytes before the kernel has read them.
  if (written != trace::OutputStream::none && (!keeps || shared_.any()))
    state.output_bytes.take(process, call, arguments);
  int64_t result = state.passed_output.before(process, call, state.output.stream(), arguments);
  if (result == 0) result = perform(process, call, shape, state, arguments, keeps);
  if (result == guest::kNotStarted) {
    // The call is made again after the signal; on replay the signal comes at the same time as this attempt.
    log_call(process, call, result, {});
    return result;
  }
  std::span<const MemoryWrite> writes;
  if (direct) writes = state.read_into_itself.writes(result);
  if (redirect) {
    writes = state.redirected.finish(result);
    for (const MemoryWrite& write : writes) {
      size_t done = process.space().write(write.to, write.bytes, write.size);
      // Before the call, there was room for it.
      if (done != write.size)
        limit("memory at {:#x} that was removed, or cut off with its file, while {} waited to write there",
              write.to.value, shape.info->name);
    }
  }
  bool other_bytes = state.output_bytes.differ(process, call, result);
  log_call(process, call, result, writes, other_bytes ? trace::OutputStream::none : written);
  if (other_bytes) log_output(process, written, state.output_bytes.bytes());
  log_hidden_effects(process, call, result, state);
  if (outside_writers_.any()) {
    bool own = state.file_change.possible();
    outside_writers_.look(call, result, own ? state.file_change.inode() : 0);
  }
  return result;
}

// As the process itself says, with what is known about the descriptor instead of asking the kernel again.
bool Recorder::keeps_baton(const guest::Process& process, const guest::SystemCall& call,
                           const CallShape& shape) {
  if (process.threads().size() == 1) return true;
  if (shape.info->facts.writes == DataForm::none) return process.keeps_baton(shape, call.arguments);
  return descriptors_.facts(static_cast<int>(call.arguments[0]), process.space()).regular;
}

int64_t Recorder::perform(guest::Process& process, const guest::SystemCall& call, const CallShape& shape,
                          CallState& state, const SyscallArgs& arguments, bool keeps_baton) {
  Descriptors::Change change(descriptors_, call.number);
  state.file_change.before(call, descriptors_, process.space(), shared_);
  // Other threads write to memory while the call is out.
  bool direct = state.read_into_itself.found();
  bool check_pages = options_.check_pages && process.threads().size() == 1 && !shared_.any() && !direct;
  if (check_pages) page_check_.before(process.space());
  // They would see mapped memory change before the log does. What comes out of a pipe may be waited for.
  bool seen = state.file_change.possible() && call.number != SYS_splice;
  bool needs_shared = false;
  bool changes_shared = false;
  SyscallArgs reachable = arguments;
  if (shared_.any()) {
    if (call.number == SYS_futex)
      shared_.redirect_futex(reachable);
    else // where the kernel cannot be led to what it is to read, this process must have it until then
      needs_shared = !shared_.redirect(process, call, reachable, state.shared_arguments) &&
                     shared_.add_reads(process, call);
    if (direct) needs_shared |= shared_.add_writes(process, state.read_into_itself.ranges());
    // Other processes may have the file that it changes, too.
    const FileChange& file = state.file_change;
    changes_shared = seen && shared_.add_file(process, file.device(), file.inode(), file.planned().begin,
                                              file.planned().end);
    shared_.take_for_call(process);
    // A process that sends a signal may stop itself.
    bool may_sleep = shape.blocking == Blocking::may || shape.info->facts.sends_signal;
    if (!needs_shared && !changes_shared && may_sleep) shared_.let_go();
  }
  using Baton = guest::Process::Baton;
  bool kept = keeps_baton || seen || needs_shared || direct;
  bool waits_for_lock = call.number == SYS_futex && shared_.is_lock(GuestAddr(call.arguments[0]));
  int64_t result = waits_for_lock ? wait_for_lock(process, shape, call, reachable)
                                  : process.kernel_call(shape, reachable, kept ? Baton::kept : Baton::given);
  if (result == -EFAULT && shared_.any()) {
    // It may have been something that the table does not say.
    shared_.take_all(process);
    result = process.kernel_call(shape, reachable, Baton::kept);
  }
  shared_.call_done(result >= 0);
  if (check_pages && !state.file_change.possible()) page_check_.after(process.space(), shape.info->name);
  return result;
}

// SIGKILL to all that a call of kill names, but not to the recorder.
int64_t Recorder::kill_by(guest::Process& process, const guest::SystemCall& call, KillCall kill) {
  ucred recorder{};
  socklen_t size = sizeof recorder;
  getsockopt(log_.ends().control_fd, SOL_SOCKET, SO_PEERCRED, &recorder, &size);
  if (shared_.any()) shared_.let_go();
  int64_t result = kill_others(kill, recorder.pid);
  if (!kill.ends_caller()) {
    log_call(process, call, result, {});
    return result;
  }
  log_call(process, call, 0, {});
  process.registers().gpr[engine::RAX] = 0; // as replay has it
  ended(process, {guest::Ending::Kind::signalled, SIGKILL});
  guest::end_as({guest::Ending::Kind::signalled, SIGKILL});
}

// A wait for a robust lock. Who has it may be killed and the kernel may not be able to mark it; nobody wakes
// the waiters then, so they look now and then.
int64_t Recorder::wait_for_lock(guest::Process& process, const CallShape& shape,
                                const guest::SystemCall& call, const SyscallArgs& reachable) {
  using guest::Process;
  const SyscallArgs& a = call.arguments;
  int command = static_cast<int>(a[1]) & FUTEX_CMD_MASK;
  bool plain = command == FUTEX_WAIT;
  std::optional<timespec> deadline;
  bool usable = plain || command == FUTEX_WAIT_BITSET;
  clockid_t clock = !plain && a[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  constexpr long kSecond = 1'000'000'000;
  auto later = [&](const timespec& by) {
    timespec result;
    clock_gettime(clock, &result);
    result.tv_sec += by.tv_sec + (result.tv_nsec + by.tv_nsec) / kSecond;
    result.tv_nsec = (result.tv_nsec + by.tv_nsec) % kSecond;
    return result;
  };
  if (usable && a[3] != 0) {
    timespec time;
    usable = process.space().read(GuestAddr(a[3]), &time, sizeof time) == sizeof time && time.tv_sec >= 0 &&
             time.tv_sec < kSecond * 4 && time.tv_nsec >= 0 && time.tv_nsec < kSecond;
    if (usable) deadline = plain ? later(time) : time;
  }
  if (!usable) return process.kernel_call(shape, reachable, Process::Baton::given);
  SyscallArgs part = reachable;
  part[1] = FUTEX_WAIT_BITSET | (clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0);
  if (plain) part[5] = FUTEX_BITSET_MATCH_ANY;
  for (;;) {
    constexpr timespec kPatience{0, 50'000'000};
    timespec until = later(kPatience);
    auto earlier = [](const timespec& x, const timespec& y) {
      return x.tv_sec != y.tv_sec ? x.tv_sec < y.tv_sec : x.tv_nsec < y.tv_nsec;
    };
    bool last = deadline && earlier(*deadline, until);
    if (last) until = *deadline;
    part[3] = reinterpret_cast<uint64_t>(&until);
    shared_.let_go();
    int64_t result = process.kernel_call(shape, part, Process::Baton::given);
    if (result == -EINTR && !deadline) {
      // Without a time limit the kernel would have begun again after most handlers.
      const guest::SignalAction& action = process.action(process.current().received.number);
      if (action.flags & SA_RESTART) return guest::kNotStarted;
    }
    if (result != -ETIMEDOUT || last) return result;
    shared_.mark_lock_of_dead(process, GuestAddr(a[0]));
  }
}

// What a call did beside its result and its output: to memory by way of a mapped file, and to the terminal.
void Recorder::log_hidden_effects(guest::Process& process, const guest::SystemCall& call, int64_t result,
                                  CallState& state) {
  for (const FileChange::Piece& piece : state.file_change.after(call, result, process.space())) {
    uint64_t begin = guest::page_down(piece.address.value);
    uint64_t end = guest::page_up(piece.address.value + piece.size);
    if (piece.bytes.empty())
      log_anew(process, begin, end);
    else
      wrote(process, piece.address, piece.bytes.data(), piece.bytes.size());
    process.space().forget_code(begin, end);
  }
  if (state.passed_output.stream() != trace::OutputStream::none)
    log_output(process, state.passed_output.stream(), state.passed_output.after(result));
}

void Recorder::log_output(guest::Process& process, trace::OutputStream stream,
                          const std::vector<uint8_t>& bytes) {
  if (bytes.empty()) return;
  trace::OutputInput output;
  output.stream = stream;
  output.bytes = bytes;
  check(log_.append(process.current().id, process.now(), output));
}

int64_t Recorder::answered(guest::Process& process, const guest::SystemCall& call,
                           const guest::Answer& answer) {
  int64_t result = Outside::answered(process, call, answer);
  std::vector<MemoryWrite> writes;
  if (result == answer.result)
    for (const guest::Answer::Write& write : answer.writes)
      writes.push_back({write.to, write.bytes.data(), write.bytes.size()});
  log_call(process, call, result, writes);
  return result;
}

void Recorder::log_call(guest::Process& process, const guest::SystemCall& call, int64_t result,
                        std::span<const MemoryWrite> writes, trace::OutputStream output) {
  log_line(Topic::record, "time {}, thread {}: system call {} gave {}, {} writes", process.now().value,
           process.current().id.value, call.number, result, writes.size());
  trace::SyscallInput input;
  input.number = static_cast<uint32_t>(call.number);
  input.result = result;
  input.output = output;
  input.hash = guest::hash_call(process.registers());
  writes_.clear();
  for (const MemoryWrite& write : writes)
    writes_.push_back({write.to, reinterpret_cast<const uint8_t*>(write.bytes), write.size});
  check(log_.append(process.current().id, process.now(), input, writes_.data(), writes_.size()));
  descriptors_.after_call(call.number);
}

engine::FastSyscall Recorder::make_fast_syscall(guest::Process& process) {
  fast_.enabled = !options_.check_pages;
  fast_.process = &process;
  fast_.log = &log_;
  fast_.descriptors = &descriptors_.remembered();
  return record::make_fast_syscall(fast_);
}

void Recorder::reached_call(guest::Process& process) {
  if (options_.checksum_interval != 0 && process.now().value >= next_checksum_) checksum(process);
}

void Recorder::checksum(guest::Process& process) {
  shared_.take_all(process);
  guest::StateHash hash = guest::hash_state(process);
  outside_writers_.skip_own(); // it may have opened a mapped file to find its holes
  check(log_.append(process.current().id, process.now(),
                    trace::ChecksumInput{hash.memory, hash.registers, hash.pages}));
  next_checksum_ = process.now().value + options_.checksum_interval;
  fast_.until = next_checksum_;
}

engine::Engine::InputResult Recorder::instruction(guest::Process& process, engine::InputInstruction kind) {
  engine::Engine::InputResult result = process.engine().execute_input();
  trace::InstructionInput input;
  input.op = op_of(kind);
  input.count = 4;
  input.values[0] = result.rax;
  input.values[1] = kind == engine::InputInstruction::rdrand || kind == engine::InputInstruction::rdseed
                        ? result.carry
                        : result.rbx;
  input.values[2] = result.rcx;
  input.values[3] = result.rdx;
  check(log_.append(process.current().id, process.now() + 1, input));
  return result;
}

void Recorder::signalled(guest::Process& process, const guest::PendingSignal& signal) {
  if (partial_work_.find(process, signal))
    check(log_.append(process.current().id, process.now(), partial_work_.input(),
                      partial_work_.writes().data(), partial_work_.writes().size()));
  trace::SignalInput input;
  input.number = signal.number;
  input.synchronous = is_fault(signal);
  const guest::SignalAction& action = process.action(signal.number);
  input.handler = GuestAddr(action.handler);
  input.action_flags = action.flags;
  input.mask = process.mask();
  input.trap_number = signal.trap_number;
  input.error_code = signal.error_code;
  input.fault_address = GuestAddr(signal.fault_address);
  input.hash = guest::hash_registers(process);
  std::memcpy(input.siginfo, &signal.info, sizeof input.siginfo);
  // The frame is written again in a replay, which has memory where a file was cut off here.
  Parts missing = cut_off_frame(process, signal);
  for (const guest::Mapping& part : missing)
    log_protection(process, part, PROT_NONE);
  check(log_.append(process.current().id, process.now(), input));
  for (const guest::Mapping& part : missing)
    log_protection(process, part, part.protection);
}

bool Recorder::reach(guest::Process& process, const engine::Fault& fault) {
  return shared_.take_for_instruction(process, fault);
}

uint64_t Recorder::stretch(guest::Process& process) {
  constexpr uint64_t kShort = 100'000;
  if (!shared_.any()) return UINT64_MAX;
  shared_.mark_locks_of_dead(process);
  if (shared_.wanted()) shared_.let_go_between_instructions(process);
  return kShort;
}

Recorder::CallState& Recorder::state_of(guest::Process& process) {
  return calls_.try_emplace(process.current().id).first->second;
}

void Recorder::thread_started(guest::Process& process, const guest::Thread& created, uint64_t clone_flags) {
  trace::ThreadStartInput start;
  start.created = created.id;
  start.stack = GuestAddr(created.registers.gpr[engine::RSP]);
  start.tls = GuestAddr(created.registers.fs_base);
  start.clone_flags = clone_flags;
  check(log_.append(process.current().id, process.now(), start));
}

void Recorder::thread_ended(guest::Process& process, int status) {
  check(log_.append(process.current().id, process.now(), trace::ThreadEndInput{status}));
  calls_.erase(process.current().id);
}

void Recorder::wrote(guest::Process& process, GuestAddr address, const void* bytes, size_t size) {
  trace::MemoryWrite write{address, static_cast<const uint8_t*>(bytes), size};
  check(log_.append(process.current().id, process.now(), trace::MemoryInput{}, &write, 1));
}

void Recorder::turn_ended(guest::Process& process) {
  shared_.let_go_between_instructions(process);
  check(log_.append(trace::Chunk{process.current().id, process.now().value - turn_begin_}));
  turn_begin_ = process.now().value;
}

void Recorder::ended(guest::Process& process, const guest::Ending& ending) {
  outside_writers_.look_again();
  if (options_.checksum_interval != 0) checksum(process);
  trace::ExitInput exit;
  exit.by_signal = ending.kind == guest::Ending::Kind::signalled;
  exit.status = ending.value;
  log_end(process, exit);
}

void Recorder::failed(guest::Process& /*process*/, const std::string& why) {
  log_.give_up(why.c_str());
}

void Recorder::log_end(guest::Process& process, const trace::ExitInput& exit) {
  shared_.leave();
  shared_files_.tell_none(log_);
  check(log_.append(process.current().id, process.now(), exit));
  turn_ended(process);
  check(log_.drain());
}

void Recorder::before_fork(guest::Process& process) {
  check(log_.stop_reason() == trace::LogStop::none);
  shared_.before_fork(process);
  // Calls must be seen from here on: they may sleep, or need memory that another process has.
  if (shared_.any()) fast_.enabled = false;
  if (shared_files_.any()) shared_files_.tell(process.space(), shared_, log_);
  if (!log_.prepare_child(trace::ProcessOrigin::forked, process.now(), &child_ends_))
    limit("more processes recorded at the same time (fork at time {})", process.now().value);
  // The lowest free descriptors are the guest's: clone may be about to give it one.
  child_ends_ = {guest::move_out_of_reach(child_ends_.ring_fd),
                 guest::move_out_of_reach(child_ends_.control_fd)};
}

void Recorder::after_fork(guest::Process& process, int64_t result) {
  shared_.after_fork(process, result);
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
  log_start(process, trace::ProcessOrigin::forked, process.now());
  bool any = shared_files_.any();
  shared_files_.forget();
  if (any) shared_files_.tell(process.space(), shared_, log_);
  check(log_.drain());
}

void Recorder::before_exec(guest::Process& process, const guest::SystemCall& call,
                           guest::Handover& handover) {
  trace::ProducerEnds ends;
  if (!log_.prepare_child(trace::ProcessOrigin::execed, process.now(), &ends))
    limit("more processes recorded at the same time (execve at time {})", process.now().value);
  ends = {guest::move_out_of_reach(ends.ring_fd), guest::move_out_of_reach(ends.control_fd)};
  ExecHandover{ends, process.now(), options_.checksum_interval}.put(handover);
  // What was checked before leaves little that could still go wrong: this program's log ends here.
  log_call(process, call, 0, {});
  log_end(process, {});
}

void Recorder::exec_failed(guest::Process& process, int64_t result) {
  limit("execve of {} failed after all: {}", process.identity().program,
        std::strerror(static_cast<int>(-result)));
}

} // namespace rdb::record
