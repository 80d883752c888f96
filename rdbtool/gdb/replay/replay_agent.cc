// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Requests to a replay process that do not move it.
#include "rdbtool/gdb/replay/replay_agent.h"

#include "rdbtool/guest/memory/object_views.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/replay/confinement.h"
#include "rdbtool/replay/divergence.h"
#include "rdbtool/replay/thread_state.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace rdb::gdb {

namespace {
constexpr size_t kRax = 0;
constexpr uint64_t kNoSys = static_cast<uint64_t>(-38); // what the kernel leaves in rax while a call goes on
} // namespace

ReplayAgent::ReplayAgent(const trace::TraceReader& trace, const trace::ProcessInfo& process,
                         const AddObservers& observers, int debug_output)
    : replayer_(trace, process, this), debug_output_(debug_output) {
  if (observers) {
    capture_debug_output();
    observers_ = observers(replayer_);
  }
  // Debug code is the user's own, and may do what it likes.
  if (!observers_) replay::confine({.forks = true});
  try {
    go_to_first_position();
  } catch (const replay::Divergence& difference) {
    replay::report_divergence(replayer_, difference);
  }
}

// The program is loaded and has executed nothing.
void ReplayAgent::go_to_first_position() {
  settle();
  while (pending_) {
    apply_pending();
    if (time_.value != 0) break;
  }
}

void ReplayAgent::serve(int fd) {
  // Copies of this process end by themselves; nobody waits for them.
  signal(SIGCHLD, SIG_IGN);
  for (;;) {
    int copy_fd = -1;
    auto request = receive_message(fd, &copy_fd);
    if (!request) _exit(0);
    auto command = request->get<ReplayCommand>();
    Message reply;
    if (command == ReplayCommand::snapshot) {
      pid_t copy = guest::fork_copy(replayer_.space());
      if (copy == 0) {
        close(fd);
        fd = copy_fd;
        continue;
      }
      close(copy_fd);
      std::optional<Failure> failure;
      if (copy < 0)
        failure = {Failure::Kind::system,
                   fmt::format("a copy of the replay cannot be made: {}", std::strerror(errno))};
      put(reply, failure);
      reply.put(static_cast<int32_t>(copy));
    } else {
      Message answer;
      std::optional<Failure> failure;
      try {
        handle(command, *request, answer);
      } catch (const std::exception& error) {
        failure = Failure::of(error);
      }
      put(reply, failure);
      if (failure)
        reply.put(here());
      else
        reply.put(std::string_view(answer.bytes()));
    }
    if (!send_message(fd, reply)) _exit(0);
  }
}

void ReplayAgent::handle(ReplayCommand command, Message& request, Message& reply) try {
  switch (command) {
  case ReplayCommand::advance:
    put(reply, advance(get_advance(request)));
    return;
  case ReplayCommand::threads:
    reply.put(static_cast<uint64_t>(replayer_.threads().size()));
    for (const auto& [id, thread] : replayer_.threads())
      reply.put(id);
    return;
  case ReplayCommand::registers:
    put(reply, registers(request.get<ThreadId>()));
    return;
  case ReplayCommand::read_memory: {
    auto from = request.get<GuestAddr>();
    Bytes data(request.get<uint64_t>());
    data.resize(read(from, data));
    reply.put(std::span<const std::byte>(data));
    return;
  }
  case ReplayCommand::mappings:
    put_mappings(reply);
    return;
  case ReplayCommand::state_hash: {
    guest::StateHash hash = guest::hash_state(replayer_);
    reply.put(hash_words(&hash.memory, 2));
    return;
  }
  case ReplayCommand::siginfo:
    reply.put(siginfo(request.get<ThreadId>()));
    return;
  case ReplayCommand::write_registers: {
    auto thread = request.get<ThreadId>();
    set_registers(thread, get_registers(request));
    return;
  }
  case ReplayCommand::write_memory: {
    auto to = request.get<GuestAddr>();
    Bytes data = request.get_bytes();
    reply.put(static_cast<uint64_t>(replayer_.space().write(to, data.data(), data.size())));
    return;
  }
  case ReplayCommand::run_diversion:
    put(reply, run_diversion(get_advance(request)));
    return;
  case ReplayCommand::snapshot:
    break;
  }
  bug("unknown request to a replay process");
} catch (const replay::Divergence& difference) {
  replay::report_divergence(replayer_, difference);
}

ThreadRegisters ReplayAgent::registers(ThreadId id) {
  replay::ThreadState state = replay::read_thread(replayer_, id);
  ThreadRegisters out;
  out.gpr = state.gpr;
  out.rip = state.rip;
  out.rflags = state.rflags;
  out.fs_base = state.fs_base;
  out.gs_base = state.gs_base;
  out.vectors = std::move(state.vectors);
  auto diverted = diverted_.find(id);
  if (diverted != diverted_.end()) {
    out.orig_rax = diverted->second;
  } else if (state.in_call) {
    out.orig_rax = std::exchange(out.gpr[kRax], kNoSys);
  }
  return out;
}

// In a diversion: the thread that is written to is the one that runs. The system call that it was in, if any,
// is none of the function's that gdb calls: from now on rax is what was written, and what the function left.
void ReplayAgent::set_registers(ThreadId id, const ThreadRegisters& in) {
  diverted_[id] = in.orig_rax;
  replay::ThreadState state;
  state.gpr = in.gpr;
  state.rip = in.rip;
  state.rflags = in.rflags;
  state.fs_base = in.fs_base;
  state.gs_base = in.gs_base;
  state.vectors = in.vectors;
  replay::write_thread(replayer_, id, state);
}

size_t ReplayAgent::read(GuestAddr from, std::span<std::byte> to) {
  return replayer_.space().read(from, to.data(), to.size());
}

void ReplayAgent::put_mappings(Message& reply) {
  const auto& mappings = replayer_.space().mappings();
  reply.put(static_cast<uint64_t>(mappings.size()));
  for (const auto& [begin, mapping] : mappings) {
    reply.put(mapping.begin);
    reply.put(mapping.end);
    reply.put(mapping.protection);
    reply.put(mapping.offset);
    reply.put(std::string_view(mapping.name));
  }
}

std::array<std::byte, 128> ReplayAgent::siginfo(ThreadId thread) {
  std::array<std::byte, 128> info{};
  if (auto last = last_siginfo_.find(thread); last != last_siginfo_.end()) info = last->second;
  if (pending_ && pending_->thread == thread && pending_->kind() == trace::InputKind::signal)
    std::memcpy(info.data(), pending_->as<trace::SignalInput>().siginfo, info.size());
  return info;
}

void ReplayAgent::output(trace::OutputStream, const void* bytes, size_t size) {
  take_debug_output();
  if (here() >= show_from_) output_.append(static_cast<const char*>(bytes), size);
}

// What debug code prints is shown in its place between the program's output, and only the first time.
void ReplayAgent::capture_debug_output() {
  dup2(debug_output_, STDOUT_FILENO);
  dup2(debug_output_, STDERR_FILENO);
}

void ReplayAgent::take_debug_output() {
  struct stat info{};
  if (debug_output_ < 0 || fstat(debug_output_, &info) != 0 || info.st_size == 0) return;
  std::string text(static_cast<size_t>(info.st_size), '\0');
  ssize_t count = pread(debug_output_, text.data(), text.size(), 0);
  if (ftruncate(debug_output_, 0) != 0) bug("the file for the output of debug code cannot be emptied");
  // A stretch never goes across the place from which on output is shown.
  if (count > 0 && here() > show_from_) output_.append(text, 0, static_cast<size_t>(count));
}

} // namespace rdb::gdb
