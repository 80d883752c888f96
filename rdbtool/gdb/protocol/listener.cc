// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who may connect: the owner through a Unix socket (mode 0600), or this machine through a loopback port.
#include "rdbtool/base/error.h"
#include "rdbtool/gdb/protocol/server.h"

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace rdb::gdb {

Listener::Listener(const std::string& where) {
  unsigned port = 0;
  auto [end, error] = std::from_chars(where.data(), where.data() + where.size(), port);
  bool number = !where.empty() && end == where.data() + where.size();
  if (number && (error != std::errc() || port > UINT16_MAX)) user_error("'{}' is no port", where);
  if (where.empty()) user_error("a server needs a socket's path or a port");
  if (number)
    listen_loopback(static_cast<uint16_t>(port));
  else
    listen_unix(where);
}

Listener::~Listener() {
  if (fd_ >= 0) close(fd_);
  if (!path_.empty()) unlink(path_.c_str());
}

namespace {
// A server that was killed leaves its socket's file behind: nobody answers there any more.
bool remove_if_abandoned(const sockaddr_un& name) {
  struct stat info{};
  if (lstat(name.sun_path, &info) != 0 || !S_ISSOCK(info.st_mode)) return false;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  bool refused =
      connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) < 0 && errno == ECONNREFUSED;
  close(fd);
  return refused && unlink(name.sun_path) == 0;
}
} // namespace

void Listener::listen_unix(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof name.sun_path) user_error("{}: too long for a socket's path", path);
  std::memcpy(name.sun_path, path.data(), path.size());
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) user_error("socket: {}", strerror(errno));
  // The file has its mode from the start: between bind and chmod it would be anybody's.
  mode_t before = umask(0177);
  int failed = bind(fd_, reinterpret_cast<sockaddr*>(&name), sizeof name);
  int error = errno;
  if (failed && error == EADDRINUSE && remove_if_abandoned(name)) {
    failed = bind(fd_, reinterpret_cast<sockaddr*>(&name), sizeof name);
    error = errno;
  }
  umask(before);
  if (failed || listen(fd_, 4)) {
    if (!failed) error = errno;
    close(fd_);
    fd_ = -1;
    user_error("{}: {}", path, strerror(error));
  }
  path_ = path;
  address_ = path;
}

void Listener::listen_loopback(uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) user_error("socket: {}", strerror(errno));
  int on = 1;
  setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t size = sizeof name;
  if (bind(fd_, reinterpret_cast<sockaddr*>(&name), sizeof name) || listen(fd_, 4) ||
      getsockname(fd_, reinterpret_cast<sockaddr*>(&name), &size)) {
    int error = errno;
    close(fd_);
    fd_ = -1;
    user_error("port {}: {}", port, strerror(error));
  }
  address_ = fmt::format("127.0.0.1:{}", ntohs(name.sin_port));
}

int Listener::accept(int stop_fd) {
  for (;;) {
    pollfd wait[] = {{fd_, POLLIN, 0}, {stop_fd, POLLIN, 0}};
    if (poll(wait, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    if (wait[1].revents) return -1;
    int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue; // the client went away again
    int on = 1;
    // Packets are small and each waits for its answer; no use on a Unix socket, and no harm.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
  }
}

} // namespace rdb::gdb
