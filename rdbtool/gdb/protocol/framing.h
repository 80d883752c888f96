// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The outermost layer of gdb's remote protocol: `$payload#checksum` with escapes, acknowledgements, and the
// lone byte 0x03 that is Ctrl-C. Whatever bytes arrive, the decoder hands out events and stays bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdb::gdb {

// The longest payload accepted or sent, in bytes before escaping. gdb is told so (PacketSize).
inline constexpr size_t kMaxPacket = 0x20000;

struct FrameEvent {
  enum class Kind : uint8_t {
    packet,    // `payload` is a packet with a good checksum, escapes undone
    corrupted, // a packet with a wrong checksum, or too long
    ack,       // '+'
    nack,      // '-'
    interrupt, // 0x03 between packets
  };
  Kind kind;
  std::string payload;
};

class FrameDecoder {
public:
  // Adds bytes as they came from the connection.
  void feed(std::string_view bytes);
  // The next event, if its bytes are complete.
  std::optional<FrameEvent> next();

  // Takes an interrupt out of the bytes that wait, wherever it stands between packets. While the program
  // runs gdb sends nothing else, but a byte that came early must not be lost.
  bool take_interrupt();

  // Bytes fed and not taken.
  size_t waiting() const { return input_.size() - used_; }

private:
  enum class State : uint8_t { idle, payload, escape, checksum_high, checksum_low };

  std::string input_;
  size_t used_ = 0;
  State state_ = State::idle;
  std::string payload_;
  bool too_long_ = false;
  uint8_t sum_ = 0;
  int high_ = 0;
};

// The bytes that say `payload`: framed, escaped, with runs of one character shortened.
std::string encode_frame(std::string_view payload);

} // namespace rdb::gdb
