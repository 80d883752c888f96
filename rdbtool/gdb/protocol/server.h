// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sockets: a debugger connects over a Unix socket that only its owner can open, or a port of the loopback
// interface, and never from elsewhere. One connection at a time; a broken one ends, the server goes on.
#pragma once

#include "rdbtool/gdb/protocol/target.h"

#include <functional>
#include <string>

namespace rdb::gdb {

// Where a server listens: closed, and a Unix socket's file removed, at the end.
class Listener {
public:
  // `where`: a path, or a port's number (0: any that is free). Throws UserError.
  explicit Listener(const std::string& where);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int descriptor() const { return fd_; }
  // As gdb's `target remote` takes it.
  const std::string& address() const { return address_; }
  // Waits for a debugger. -1 if `stop_fd` became readable first.
  int accept(int stop_fd = -1);

private:
  void listen_unix(const std::string& path);
  void listen_loopback(uint16_t port);

  int fd_ = -1;
  std::string path_; // of a Unix socket
  std::string address_;
};

using Say = std::function<void(const std::string&)>;

class Navigator;

// Serves one connection until it ends; takes the descriptor over. Never throws for what the client does.
void serve_connection(int fd, Target& target, Navigator& navigator, const Say& say,
                      const std::function<void()>& on_move = {});

// Accepts and serves, one connection after the other, until `stop_fd` becomes readable. True if anybody
// connected. `on_move` is called each time that the debugger lets the program run.
bool serve(Listener& listener, Target& target, const Say& say, int stop_fd = -1,
           const std::function<void()>& on_move = {});

} // namespace rdb::gdb
