// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes in, bytes out. While the program runs the connection is only looked at for Ctrl-C and its end.
#include "rdbtool/gdb/server.h"

#include "rdbtool/gdb/framing.h"
#include "rdbtool/gdb/navigator.h"
#include "rdbtool/gdb/request.h"
#include "rdbtool/gdb/session.h"

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
  Conversation(Connection& connection, Session& session) : connection_(connection), session_(session) {}

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
    Answer answer = session_.handle(parse_request(packet), connection_, emit);
    last_ = encode_frame(answer.packet);
    if (!connection_.send(last_)) return false;
    if (answer.no_acks) acks_ = false;
    return !answer.closes;
  }

  Connection& connection_;
  Session& session_;
  bool acks_ = true;
  std::string last_; // to send again when gdb did not get it whole
};

} // namespace

void serve_connection(int fd, Target& target, Navigator& navigator, const Say& say) {
  Connection connection(fd);
  Session session(target, navigator, say);
  Conversation conversation(connection, session);
  while (connection.receive())
    if (!conversation.go_on()) break;
}

void serve(Listener& listener, Target& target, Serve how, const Say& say, int stop_fd) {
  Navigator navigator(target);
  do {
    int fd = listener.accept(stop_fd);
    if (fd < 0) return;
    serve_connection(fd, target, navigator, say);
  } while (how == Serve::until_stopped);
}

} // namespace rdb::gdb
