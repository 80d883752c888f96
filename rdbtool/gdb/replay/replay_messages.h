// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the controller and its replay processes say to each other over a socket: plain values, packed one
// after the other. Both sides are rdb itself, so a message that does not fit is a bug.
#pragma once

#include "rdbtool/base/error.h"
#include "rdbtool/base/failure.h"
#include "rdbtool/gdb/protocol/target.h"

#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

namespace rdb::gdb {

class Message {
public:
  Message() = default;
  explicit Message(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& bytes() const { return bytes_; }

  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(std::string_view text) {
    put(static_cast<uint64_t>(text.size()));
    bytes_.append(text);
  }
  void put(std::span<const std::byte> data) {
    put(std::string_view(reinterpret_cast<const char*>(data.data()), data.size()));
  }

  template <class T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value;
    RDB_CHECK(bytes_.size() - at_ >= sizeof value);
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string get_text() {
    auto size = get<uint64_t>();
    RDB_CHECK(size <= bytes_.size() - at_);
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  Bytes get_bytes() {
    std::string text = get_text();
    auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

private:
  std::string bytes_;
  size_t at_ = 0;
};

// The beginning of every answer: what went wrong, if anything did.
void put(Message& message, const std::optional<Failure>& failure);
std::optional<Failure> get_failure(Message& message);

// False, or nothing, if the other side is gone. A descriptor may go along.
bool send_message(int fd, const Message& message, int descriptor = -1);
std::optional<Message> receive_message(int fd, int* descriptor = nullptr);

enum class ReplayCommand : uint8_t {
  advance,
  threads,
  registers,
  read_memory,
  mappings,
  state_hash,
  siginfo,
  snapshot, // forks; the copy talks over the descriptor that came along
  write_registers,
  write_memory,
  run_diversion,
};

// Goes forwards until a stop, the limit or the end.
struct Advance {
  Position limit;                          // or, if there is no such position, the last before the next time
  bool last_stop = false;                  // do not stop, remember the last stop before the limit
  std::optional<ThreadId> step;            // one instruction of this thread ...
  GuestAddr range_begin, range_end;        // ... and on while it is in this range
  Position show_from{Time(UINT64_MAX), 0}; // output of inputs that are applied from here on is shown
  StopPoints stops;
};

struct Advanced {
  enum class Kind : uint8_t { limit, stop, end } kind = Kind::limit;
  std::optional<StopEvent> stop;
  Position stop_at;
  // Where the process is now.
  Position here;
  bool input_pending = false;
  ThreadId thread;
  std::string output;
};

void put(Message& message, const Advance& request);
Advance get_advance(Message& message);
void put(Message& message, const Advanced& reply);
Advanced get_advanced(Message& message);
void put(Message& message, const ThreadRegisters& registers);
ThreadRegisters get_registers(Message& message);

} // namespace rdb::gdb
