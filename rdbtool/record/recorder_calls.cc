// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the recorder executes what the guest gets from outside: system calls that do not take the fast path,
// and instructions such as rdtsc.
#include "rdbtool/record/recorder.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/calls/call_output.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/record/log_check.h"
#include "rdbtool/record/recorded_baton.h"
#include "rdbtool/record/shared_memory/lock_wait.h"

#include <cerrno>
#include <csignal>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::record {
namespace {

using During = guest::Baton::During;

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

} // namespace

int64_t Recorder::execute(guest::Machine& machine, const guest::SystemCall& call, const CallShape& shape,
                          guest::Baton& baton) {
  if (shape.call_class == CallClass::refused) {
    log_call(machine, call, -shape.error, {});
    return -shape.error;
  }
  if (std::optional<KillCall> kill = kill_call(machine, call)) return kill_by(machine, call, *kill);
  bool keeps = keeps_baton(machine, call, shape, baton);
  Execution it{
      machine, call, shape, state_of(machine), {baton, turns_, machine}, guest::SpaceView(machine.space()),
      keeps};
  OutputOrder::Turn output_turn(order_, machine, it.baton, it.state.output);
  if (int16_t argument = shape.info->properties.output_arg; argument != kNoArgument)
    if (int64_t over = output_turn.begin(call, static_cast<size_t>(argument), descriptors_, keeps);
        over != 0) {
      log_call(machine, call, over, {});
      return over;
    }
  SyscallArgs arguments = prepare(it);
  int64_t result =
      it.state.passed_output.before(machine, it.baton, call, it.state.output.stream(), arguments);
  if (result == 0) result = make_call(it, arguments);
  if (result == guest::kNotStarted) {
    // The call is made again after the signal; on replay the signal comes at the same time as this attempt.
    log_call(machine, call, result, {});
    return result;
  }
  put_and_log(it, result);
  return result;
}

// The standard stream that the call writes bytes to, if it is one of those that replay shows.
trace::OutputStream Recorder::written_by(const Execution& it) {
  return it.shape.info->properties.writes != DataForm::none ? it.state.output.stream()
                                                            : trace::OutputStream::none;
}

// The arguments for the kernel, in place of the guest's own.
SyscallArgs Recorder::prepare(Execution& it) {
  const guest::SystemCall& call = it.call;
  CallState& state = it.state;
  SyscallArgs arguments = call.arguments;
  if (state.read_into_itself.find(call, descriptors_, it.machine.space()))
    arguments = state.read_into_itself.arguments(call);
  else if (needs_redirect(static_cast<uint64_t>(call.number)))
    arguments = state.redirected.prepare(it.shape, call.arguments, it.view);
  if (int16_t argument = it.shape.info->properties.output_arg; argument != kNoArgument)
    arguments[static_cast<size_t>(argument)] = static_cast<uint64_t>(state.output.descriptor());
  state.output_bytes.forget();
  // Others may change the bytes before the kernel has read them.
  if (written_by(it) != trace::OutputStream::none && (!it.keeps_baton || shared_.any()))
    state.output_bytes.take(it.machine, call, arguments);
  return arguments;
}

// The outputs of the call, into guest memory and the log.
void Recorder::put_and_log(Execution& it, int64_t result) {
  CallState& state = it.state;
  // What others have done to a file while the call was out comes first: its bytes may be what the call reads.
  take_file_changes(it.machine);
  std::span<const MemoryWrite> writes;
  if (state.read_into_itself.found()) {
    writes = state.read_into_itself.writes(result);
  } else if (needs_redirect(static_cast<uint64_t>(it.call.number))) {
    writes = state.redirected.finish(result);
    for (const MemoryWrite& write : writes) {
      size_t done = it.machine.space().write(write.address, write.data, write.size);
      // Before the call, there was room for it.
      if (done != write.size)
        limit("memory at {:#x} that was removed, or cut off with its file, while {} waited to write there",
              write.address.value, it.shape.info->name);
    }
  }
  trace::OutputStream written = written_by(it);
  bool other_bytes = state.output_bytes.differ(it.machine, it.call, result);
  log_call(it.machine, it.call, result, writes, other_bytes ? trace::OutputStream::none : written,
           hash_data(it, result));
  if (other_bytes) log_output(it.machine, written, state.output_bytes.bytes());
  log_hidden_effects(it.machine, it.call, result, state);
  if (properties_of(it.call.number).writes_to_disk) log_last_pages(it.machine);
  if (!outside_writers_.any()) return;
  bool own = state.file_change.possible();
  outside_writers_.look(it.call, result, own ? state.file_change.inode() : 0);
}

// Of what the call has read, as guest memory holds it now: a replay has the same there when it applies the
// call. Left out are pages that processes share, which may be another one's now (replay has them checked when
// this process takes them), and memory that the call itself has changed by way of its file, which is logged
// after it.
std::optional<uint32_t> Recorder::hash_data(Execution& it, int64_t result) {
  guest::AddressSpace& space = it.machine.space();
  const FileChange& file = it.state.file_change;
  if (!shared_.any() && !file.possible()) return guest::hash_output(space, it.call, result);
  return guest::hash_output(space, it.call, result, [&](GuestAddr address, uint64_t size) {
    for (uint64_t at = address.value; at < address.value + size;) {
      const guest::Mapping* mapping = space.find(at);
      if (mapping == nullptr || (shared_.any() && mapping->flags & MAP_SHARED)) return false;
      if (file.possible() && mapping->inode == file.inode() && mapping->device == file.device()) return false;
      at = mapping->end;
    }
    return true;
  });
}

// As the baton itself says, with what is known about the descriptor instead of asking the kernel again.
bool Recorder::keeps_baton(const guest::Machine& machine, const guest::SystemCall& call,
                           const CallShape& shape, const guest::Baton& baton) {
  if (machine.threads().size() == 1) return true;
  if (shape.info->properties.writes == DataForm::none)
    return baton.best_for(shape, call.arguments) == During::kept;
  return descriptors_.facts(static_cast<int>(call.arguments[0]), machine.space()).regular;
}

// Whether memory that processes share is on the call's way. Then the kernel is led to another mapping of it,
// or the process takes it for the time of the call. True if it must run until the call is over.
bool Recorder::take_shared(Execution& it, SyscallArgs& reachable, bool changes_file) {
  guest::Machine& machine = it.machine;
  bool needs_shared = false;
  if (it.call.number == SYS_futex)
    shared_.redirect_futex(reachable);
  else // where the kernel cannot be led to what it is to read, this process must have it until then
    needs_shared = !shared_.redirect(machine, it.call, reachable, it.state.shared_arguments) &&
                   shared_.add_reads(machine, it.call);
  ReadIntoItself& direct = it.state.read_into_itself;
  if (direct.found()) needs_shared |= shared_.add_writes(machine, direct.ranges());
  // Other processes may have the file that it changes, too.
  const FileChange& file = it.state.file_change;
  bool changes_shared = changes_file && shared_.add_file(machine, file.device(), file.inode(),
                                                         file.planned().begin, file.planned().end);
  shared_.take_for_call(machine);
  // A process that sends a signal may stop itself.
  bool may_sleep = it.shape.blocking == Blocking::may || it.shape.info->properties.sends_signal;
  if (!needs_shared && !changes_shared && may_sleep) shared_.let_go();
  return needs_shared;
}

// The file may be mapped by others, who must not see it change before their logs do.
void Recorder::tell_of_change(Execution& it) {
  const FileChange& file = it.state.file_change;
  if (!file.possible()) return;
  it.state.told_of_change = change_notice_.begin(file.device(), file.inode());
  // It may wait for what those write that would wait for it.
  if (it.state.told_of_change && it.call.number == SYS_splice) {
    change_notice_.end(file.device(), file.inode(), {});
    limit("splice to a file that another recorded process has mapped");
  }
}

int64_t Recorder::make_call(Execution& it, const SyscallArgs& arguments) {
  guest::Machine& machine = it.machine;
  CallState& state = it.state;
  Descriptors::Change change(descriptors_, it.call.number);
  state.file_change.before(it.call, descriptors_, machine.space(), shared_, log_);
  // Other threads write to memory while the call is out.
  bool direct = state.read_into_itself.found();
  bool check_pages = options_.check_pages && machine.threads().size() == 1 && !shared_.any() && !direct;
  if (check_pages) page_check_.before(machine.space());
  // They would see mapped memory change before the log does. What comes out of a pipe may be waited for.
  bool seen = state.file_change.possible() && it.call.number != SYS_splice;
  SyscallArgs reachable = arguments;
  bool needs_shared = shared_.any() && take_shared(it, reachable, seen);
  tell_of_change(it);
  bool kept = it.keeps_baton || seen || needs_shared || direct;
  bool waits_for_lock = it.call.number == SYS_futex && shared_.is_lock(GuestAddr(it.call.arguments[0]));
  int64_t result = waits_for_lock
                       ? wait_for_lock(machine, it.call, it.shape, reachable, shared_, it.baton)
                       : it.baton.call_kernel(it.shape, reachable, kept ? During::kept : During::given_away);
  if (result == -EFAULT && shared_.any()) {
    // It may have been something that the table does not say.
    shared_.take_all(machine);
    result = it.baton.call_kernel(it.shape, reachable, During::kept);
  }
  shared_.call_done(result >= 0);
  if (std::exchange(state.told_of_change, false))
    change_notice_.end(state.file_change.device(), state.file_change.inode(),
                       state.file_change.changed(it.call, result));
  // Nor is what other processes have changed in mapped files the call's doing.
  if (check_pages && !state.file_change.possible() && !log_.is_disturbed())
    page_check_.after(machine.space(), it.shape.info->name);
  return result;
}

// SIGKILL to all that a call of kill names, but not to the recorder.
int64_t Recorder::kill_by(guest::Machine& machine, const guest::SystemCall& call, KillCall kill) {
  ucred recorder{};
  socklen_t size = sizeof recorder;
  getsockopt(log_.ends().control_fd, SOL_SOCKET, SO_PEERCRED, &recorder, &size);
  if (shared_.any()) shared_.let_go();
  int64_t result = kill_others(kill, recorder.pid);
  if (!kill.ends_caller()) {
    log_call(machine, call, result, {});
    return result;
  }
  log_call(machine, call, 0, {});
  machine.registers().gpr[engine::RAX] = 0; // as replay has it
  on_end(machine, {guest::Ending::Kind::signalled, SIGKILL});
  guest::end_as({guest::Ending::Kind::signalled, SIGKILL});
}

// What a call did beside its result and its output: to memory by way of a mapped file, and to the terminal.
void Recorder::log_hidden_effects(guest::Machine& machine, const guest::SystemCall& call, int64_t result,
                                  CallState& state) {
  for (const FileChange::Piece& piece : state.file_change.after(call, result, machine.space())) {
    uint64_t begin = guest::page_down(piece.address.value);
    uint64_t end = guest::page_up(piece.address.value + piece.size);
    if (piece.bytes.empty())
      log_anew(machine, begin, end);
    else
      on_memory_write(machine, piece.address, piece.bytes.data(), piece.bytes.size());
    machine.space().forget_code(begin, end);
  }
  if (state.passed_output.stream() != trace::OutputStream::none)
    log_output(machine, state.passed_output.stream(), state.passed_output.after(result));
}

void Recorder::log_output(guest::Machine& machine, trace::OutputStream stream,
                          const std::vector<uint8_t>& bytes) {
  if (bytes.empty()) return;
  trace::OutputInput output;
  output.stream = stream;
  output.bytes = bytes;
  check(log_.append(machine.current().id, machine.now(), output));
}

int64_t Recorder::deliver(guest::Machine& machine, const guest::SystemCall& call,
                          const guest::ComputedAnswer& answer) {
  int64_t result = guest::write_answer(machine.space(), answer);
  std::vector<MemoryWrite> writes;
  if (result == answer.result)
    for (const guest::ComputedAnswer::Write& write : answer.writes)
      writes.push_back({write.to, reinterpret_cast<const uint8_t*>(write.bytes.data()), write.bytes.size()});
  log_call(machine, call, result, writes);
  return result;
}

Recorder::CallState& Recorder::state_of(guest::Machine& machine) {
  return calls_.try_emplace(machine.current().id).first->second;
}

engine::FastSyscall Recorder::fast_path(guest::Machine& machine, const guest::SeccompFilters& filters) {
  fast_.enabled = !options_.check_pages;
  fast_.machine = &machine;
  fast_.filters = &filters;
  fast_.log = &log_;
  fast_.descriptors = &descriptors_.remembered();
  return make_fast_syscall(fast_);
}

engine::Engine::InputResult Recorder::execute_instruction(guest::Machine& machine,
                                                          engine::InputInstruction kind) {
  engine::Engine::InputResult result = machine.engine().execute_input();
  trace::InstructionInput input;
  input.op = op_of(kind);
  input.count = 4;
  input.values[0] = result.rax;
  input.values[1] = kind == engine::InputInstruction::rdrand || kind == engine::InputInstruction::rdseed
                        ? result.carry
                        : result.rbx;
  input.values[2] = result.rcx;
  input.values[3] = result.rdx;
  check(log_.append(machine.current().id, machine.now() + 1, input));
  return result;
}

} // namespace rdb::record
