// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes in, bytes out. While the program runs the connection is only looked at for Ctrl-C and its end.
#include "rdbtool/gdb/protocol/server.h"

#include "rdbtool/base/log.h"
#include "rdbtool/gdb/protocol/framing.h"
#include "rdbtool/gdb/protocol/navigator.h"
#include "rdbtool/gdb/protocol/request.h"
#include "rdbtool/gdb/protocol/session.h"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rdb::gdb {

namespace {

class Connection : public InterruptSource {
public:
  explicit Connection(int fd) : fd_(fd) {}
  ~Connection() override { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  FrameDecoder& decoder() { return decoder_; }

  // Waits for bytes. False when there will be none any more.
  bool receive() { return receive_with(0); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  int descriptor() const override { return closed_ ? -1 : fd_; }

  bool requested() override {
    while (!closed_ && receive_with(MSG_DONTWAIT)) {
    }
    return closed_ || decoder_.take_interrupt();
  }

private:
  bool receive_with(int flags) {
    char buffer[16384];
    ssize_t count;
    do
      count = recv(fd_, buffer, sizeof buffer, flags);
    while (count < 0 && errno == EINTR);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (count <= 0) {
      closed_ = true;
      return false;
    }
    decoder_.feed(std::string_view(buffer, static_cast<size_t>(count)));
    // Whoever sends this much without waiting for an answer is no debugger.
    if (decoder_.waiting() > 4 * kMaxPacket) closed_ = true;
    return !closed_;
  }

  int fd_;
  bool closed_ = false;
  FrameDecoder decoder_;
};

// Answers everything that has arrived. False when the connection is to end.
class Conversation {
public:
  Conversation(Connection& connection, Session& session, const std::function<void()>& on_move)
      : connection_(connection), session_(session), on_move_(on_move) {}

  bool go_on() {
    while (auto event = connection_.decoder().next())
      if (!handle(*event)) return false;
    return true;
  }

private:
  bool handle(const FrameEvent& event) {
    switch (event.kind) {
    case FrameEvent::Kind::packet:
      return (!acks_ || connection_.send("+")) && answer(event.payload);
    case FrameEvent::Kind::corrupted:
      return !acks_ || connection_.send("-");
    case FrameEvent::Kind::nack:
      return !acks_ || connection_.send(last_);
    case FrameEvent::Kind::ack:
    case FrameEvent::Kind::interrupt: // nothing runs: it came too late
      return true;
    }
    return true;
  }

  bool answer(std::string_view packet) {
    auto emit = [this](const std::string& text) { connection_.send(encode_frame(text)); };
    log_line(Topic::gdb, "packet {}", packet);
    Request request = parse_request(packet);
    if (on_move_ && std::holds_alternative<request::Resume>(request)) on_move_();
    Reply answer = session_.handle(request, connection_, emit);
    log_line(Topic::gdb, "answer {}", answer.packet);
    last_ = encode_frame(answer.packet);
    if (!connection_.send(last_)) return false;
    if (answer.no_acks) acks_ = false;
    return !answer.closes;
  }

  Connection& connection_;
  Session& session_;
  const std::function<void()>& on_move_;
  bool acks_ = true;
  std::string last_; // to send again when gdb did not get it whole
};

} // namespace

void serve_connection(int fd, Target& target, Navigator& navigator, const Say& say,
                      const std::function<void()>& on_move) {
  Connection connection(fd);
  Session session(target, navigator, say);
  Conversation conversation(connection, session, on_move);
  while (connection.receive())
    if (!conversation.go_on()) break;
}

bool serve(Listener& listener, Target& target, const Say& say, int stop_fd,
           const std::function<void()>& on_move) {
  Navigator navigator(target);
  bool connected = false;
  for (;;) {
    int fd = listener.accept(stop_fd);
    if (fd < 0) return connected;
    connected = true;
    serve_connection(fd, target, navigator, say, on_move);
  }
}

} // namespace rdb::gdb
