// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Requests to a replay process that do not move it.
#include "rdbtool/gdb/replay_agent.h"

#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace rdb::gdb {

namespace {
constexpr uint64_t kNoSys = static_cast<uint64_t>(-38); // what the kernel leaves in rax while a call goes on
}

ReplayAgent::ReplayAgent(const trace::TraceReader& trace, const trace::ProcessInfo& process)
    : replayer_(trace, process, this) {
  // To the first position: the program is loaded and has executed nothing.
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
      pid_t copy = fork();
      if (copy == 0) {
        close(fd);
        fd = copy_fd;
        continue;
      }
      close(copy_fd);
      reply.put(std::string_view(copy < 0 ? "a copy of the replay could not be made" : ""));
      reply.put(static_cast<int32_t>(copy));
    } else {
      Message answer;
      std::string trouble;
      try {
        handle(command, *request, answer);
      } catch (const std::exception& error) {
        trouble = error.what();
        if (trouble.empty()) trouble = "unknown trouble in the replay process";
      }
      reply.put(std::string_view(trouble));
      reply.put(std::string_view(answer.bytes()));
    }
    if (!send_message(fd, reply)) _exit(0);
  }
}

void ReplayAgent::handle(ReplayCommand command, Message& request, Message& reply) {
  switch (command) {
  case ReplayCommand::advance:
    put(reply, advance(get_advance(request)));
    return;
  case ReplayCommand::registers:
    put(reply, registers());
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
  case ReplayCommand::siginfo:
    reply.put(siginfo());
    return;
  case ReplayCommand::write_registers:
    set_registers(get_registers(request));
    return;
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
}

Registers ReplayAgent::registers() {
  const engine::Registers& regs = replayer_.registers();
  Registers out;
  std::copy(std::begin(regs.gpr), std::end(regs.gpr), out.gpr.begin());
  out.rip = regs.rip;
  out.rflags = regs.rflags;
  out.fs_base = regs.fs_base;
  out.gs_base = regs.gs_base;
  if (replayer_.in_call()) {
    out.orig_rax = regs.gpr[engine::RAX];
    out.gpr[engine::RAX] = kNoSys;
  }
  out.vectors.resize(replayer_.engine().vector_size());
  replayer_.engine().read_vectors(out.vectors);
  return out;
}

void ReplayAgent::set_registers(const Registers& in) {
  engine::Registers& regs = replayer_.registers();
  std::copy(in.gpr.begin(), in.gpr.end(), std::begin(regs.gpr));
  regs.rip = in.rip;
  regs.rflags = in.rflags;
  regs.fs_base = in.fs_base;
  regs.gs_base = in.gs_base;
  Bytes image = in.vectors;
  image.resize(replayer_.engine().vector_size());
  replayer_.engine().write_vectors(image);
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

std::array<std::byte, 128> ReplayAgent::siginfo() {
  std::array<std::byte, 128> info = last_siginfo_;
  if (pending_ && pending_->kind() == trace::InputKind::kSignal)
    std::memcpy(info.data(), pending_->as<trace::SignalInput>().siginfo, info.size());
  return info;
}

void ReplayAgent::output(trace::OutputStream, const void* bytes, size_t size) {
  if (here() >= show_from_) output_.append(static_cast<const char*>(bytes), size);
}

} // namespace rdb::gdb
