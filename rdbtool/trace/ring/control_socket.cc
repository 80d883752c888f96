// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/ring/control_socket.h"

#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>

namespace rdb::trace {

std::pair<OwnedFd, OwnedFd> control_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw_errno("control socket", "cannot be made");
  OwnedFd here(ends[0]), there(ends[1]);
  if (fcntl(here.get(), F_SETFL, O_NONBLOCK) != 0) throw_errno("control socket", "cannot be set up");
  return {std::move(here), std::move(there)};
}

ReceiveResult receive_request(int control, ControlRequest& request) {
  ControlMessage message;
  iovec in = {&message, sizeof message};
  alignas(cmsghdr) char ancillary[CMSG_SPACE(4 * sizeof(int))];
  msghdr header = {};
  header.msg_iov = &in;
  header.msg_iovlen = 1;
  header.msg_control = ancillary;
  header.msg_controllen = sizeof ancillary;
  ssize_t size = recvmsg(control, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return errno == EAGAIN || errno == EINTR ? ReceiveResult::nothing : ReceiveResult::closed;
  if (size == 0) return ReceiveResult::closed;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      request.fd = OwnedFd(fd); // one counts, the others close
    }
  }
  auto length = static_cast<size_t>(size);
  if (length < sizeof message.kind || message.kind < ControlKind::doorbell ||
      message.kind > ControlKind::take_file_change)
    return ReceiveResult::malformed;
  request.kind = message.kind;
  if (length >= offsetof(ControlMessage, text)) {
    request.time = message.time;
    size_t text = length - offsetof(ControlMessage, text);
    request.text.assign(message.text, std::min<size_t>(text, message.text_size));
  }
  return ReceiveResult::request;
}

void send_reply(int control, const ControlReply& reply, ProducerEnds ends) {
  iovec out = {const_cast<ControlReply*>(&reply), sizeof reply};
  alignas(cmsghdr) char ancillary[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &out;
  header.msg_iovlen = 1;
  if (ends.ring_fd >= 0) {
    header.msg_control = ancillary;
    header.msg_controllen = sizeof ancillary;
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(2 * sizeof(int));
    int fds[2] = {ends.ring_fd, ends.control_fd};
    std::memcpy(CMSG_DATA(part), fds, sizeof fds);
  }
  sendmsg(control, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

} // namespace rdb::trace
