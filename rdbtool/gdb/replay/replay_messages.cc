// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packing and unpacking, and the socket.
#include "rdbtool/gdb/replay/replay_messages.h"

#include <cerrno>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace rdb::gdb {

namespace {

bool send_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int fd, char* data, size_t size) {
  while (size > 0) {
    ssize_t got = recv(fd, data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

} // namespace

// The size goes first, and carries the descriptor.
bool send_message(int fd, const Message& message, int descriptor) {
  uint64_t size = message.bytes().size();
  iovec part{&size, sizeof size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(item), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  do
    sent = sendmsg(fd, &header, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == sizeof size && send_all(fd, message.bytes().data(), message.bytes().size());
}

std::optional<Message> receive_message(int fd, int* descriptor) {
  uint64_t size = 0;
  iovec part{&size, sizeof size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got;
  do
    got = recvmsg(fd, &header, MSG_WAITALL | MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got != sizeof size) return std::nullopt;
  if (cmsghdr* item = CMSG_FIRSTHDR(&header); item && item->cmsg_type == SCM_RIGHTS) {
    int passed = -1;
    std::memcpy(&passed, CMSG_DATA(item), sizeof passed);
    if (descriptor)
      *descriptor = passed;
    else
      close(passed);
  }
  std::string bytes(size, '\0');
  if (!receive_all(fd, bytes.data(), size)) return std::nullopt;
  return Message(std::move(bytes));
}

void put(Message& message, const std::optional<Failure>& failure) {
  message.put(failure.has_value());
  if (!failure) return;
  message.put(failure->kind);
  message.put(std::string_view(failure->text));
}

std::optional<Failure> get_failure(Message& message) {
  if (!message.get<bool>()) return std::nullopt;
  auto kind = message.get<Failure::Kind>();
  return Failure{kind, message.get_text()};
}

void put(Message& message, const Advance& request) {
  message.put(request.limit);
  message.put(request.last_stop);
  message.put(request.step.has_value());
  message.put(request.step.value_or(ThreadId()));
  message.put(request.range_begin);
  message.put(request.range_end);
  message.put(request.show_from);
  message.put(static_cast<uint64_t>(request.stops.breakpoints.size()));
  for (const Breakpoint& point : request.stops.breakpoints) {
    message.put(point.address);
    message.put(static_cast<uint64_t>(point.conditions.size()));
    for (const AgentBytecode& condition : point.conditions)
      message.put(std::span<const std::byte>(condition));
  }
  message.put(static_cast<uint64_t>(request.stops.watchpoints.size()));
  for (const Watchpoint& watch : request.stops.watchpoints)
    message.put(watch);
  message.put(request.stops.syscalls.enabled);
  message.put(std::as_bytes(std::span(request.stops.syscalls.numbers)));
  message.put(request.stops.silent_signals);
}

Advance get_advance(Message& message) {
  Advance request;
  request.limit = message.get<Position>();
  request.last_stop = message.get<bool>();
  bool step = message.get<bool>();
  auto step_thread = message.get<ThreadId>();
  if (step) request.step = step_thread;
  request.range_begin = message.get<GuestAddr>();
  request.range_end = message.get<GuestAddr>();
  request.show_from = message.get<Position>();
  for (auto count = message.get<uint64_t>(); count > 0; --count) {
    Breakpoint point;
    point.address = message.get<GuestAddr>();
    for (auto conditions = message.get<uint64_t>(); conditions > 0; --conditions)
      point.conditions.push_back(message.get_bytes());
    request.stops.breakpoints.push_back(std::move(point));
  }
  for (auto count = message.get<uint64_t>(); count > 0; --count)
    request.stops.watchpoints.push_back(message.get<Watchpoint>());
  request.stops.syscalls.enabled = message.get<bool>();
  Bytes numbers = message.get_bytes();
  request.stops.syscalls.numbers.resize(numbers.size() / sizeof(int64_t));
  std::memcpy(request.stops.syscalls.numbers.data(), numbers.data(), numbers.size());
  request.stops.silent_signals = message.get<std::array<bool, 65>>();
  return request;
}

void put(Message& message, const Advanced& reply) {
  message.put(reply.kind);
  message.put(reply.stop.has_value());
  if (reply.stop) {
    message.put(reply.stop->kind);
    message.put(reply.stop->thread);
    message.put(reply.stop->number);
    message.put(reply.stop->watch);
    message.put(std::string_view(reply.stop->message));
  }
  message.put(reply.stop_at);
  message.put(reply.here);
  message.put(reply.input_pending);
  message.put(reply.thread);
  message.put(std::string_view(reply.output));
}

Advanced get_advanced(Message& message) {
  Advanced reply;
  reply.kind = message.get<Advanced::Kind>();
  if (message.get<bool>()) {
    StopEvent stop;
    stop.kind = message.get<StopKind>();
    stop.thread = message.get<ThreadId>();
    stop.number = message.get<int64_t>();
    stop.watch = message.get<Watchpoint>();
    stop.message = message.get_text();
    reply.stop = std::move(stop);
  }
  reply.stop_at = message.get<Position>();
  reply.here = message.get<Position>();
  reply.input_pending = message.get<bool>();
  reply.thread = message.get<ThreadId>();
  reply.output = message.get_text();
  return reply;
}

void put(Message& message, const ThreadRegisters& registers) {
  message.put(registers.gpr);
  message.put(
      std::array{registers.rip, registers.rflags, registers.fs_base, registers.gs_base, registers.orig_rax});
  message.put(std::array{registers.cs, registers.ss, registers.ds, registers.es, registers.fs, registers.gs});
  message.put(std::span<const std::byte>(registers.vectors));
}

ThreadRegisters get_registers(Message& message) {
  ThreadRegisters registers;
  registers.gpr = message.get<std::array<uint64_t, 16>>();
  auto others = message.get<std::array<uint64_t, 5>>();
  registers.rip = others[0], registers.rflags = others[1], registers.fs_base = others[2];
  registers.gs_base = others[3], registers.orig_rax = others[4];
  auto segments = message.get<std::array<uint16_t, 6>>();
  registers.cs = segments[0], registers.ss = segments[1], registers.ds = segments[2];
  registers.es = segments[3], registers.fs = segments[4], registers.gs = segments[5];
  registers.vectors = message.get_bytes();
  return registers;
}

} // namespace rdb::gdb
