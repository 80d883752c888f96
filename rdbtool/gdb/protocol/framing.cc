// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frames are decoded by a small state machine, one byte at a time: packets may arrive in any number of
// pieces.
#include "rdbtool/gdb/protocol/framing.h"

#include "rdbtool/gdb/protocol/text_cursor.h"

namespace rdb::gdb {

namespace {

constexpr char kInterrupt = '\x03';

bool needs_escape(char c) {
  return c == '#' || c == '$' || c == '}' || c == '*';
}

// `repeats` more of the character before. A count must not look like a frame's own characters, and is
// itself a printable character: 29 more than the number.
constexpr size_t kMinRepeats = 3;
constexpr size_t kMaxRepeats = 126 - 29;

void append_run(std::string& out, char c, size_t length) {
  while (length > 0) {
    out += c;
    --length;
    size_t repeats = length < kMaxRepeats ? length : kMaxRepeats;
    // 6, 7 and 96 would be written '#', '$' and '}'.
    if (repeats == 6 || repeats == 7) repeats = 5;
    if (repeats == 96) repeats = 95;
    if (repeats < kMinRepeats) continue;
    out += '*';
    out += static_cast<char>(repeats + 29);
    length -= repeats;
  }
}

} // namespace

void FrameDecoder::feed(std::string_view bytes) {
  input_.erase(0, used_);
  used_ = 0;
  input_ += bytes;
}

std::optional<FrameEvent> FrameDecoder::next() {
  using Kind = FrameEvent::Kind;
  while (used_ < input_.size()) {
    char c = input_[used_++];
    switch (state_) {
    case State::idle:
      if (c == '+') return FrameEvent{Kind::ack, {}};
      if (c == '-') return FrameEvent{Kind::nack, {}};
      if (c == kInterrupt) return FrameEvent{Kind::interrupt, {}};
      if (c == '$') {
        state_ = State::payload;
        payload_.clear();
        sum_ = 0;
        too_long_ = false;
      }
      break; // anything else is noise between packets
    case State::payload:
      if (c == '#') {
        state_ = State::checksum_high;
        break;
      }
      if (c == '$') { // the packet before was cut off
        payload_.clear();
        sum_ = 0;
        too_long_ = false;
        break;
      }
      sum_ += static_cast<uint8_t>(c);
      if (c == '}') {
        state_ = State::escape;
        break;
      }
      if (payload_.size() < kMaxPacket)
        payload_ += c;
      else
        too_long_ = true;
      break;
    case State::escape:
      sum_ += static_cast<uint8_t>(c);
      if (payload_.size() < kMaxPacket)
        payload_ += static_cast<char>(c ^ 0x20);
      else
        too_long_ = true;
      state_ = State::payload;
      break;
    case State::checksum_high:
      high_ = hex_digit(c);
      state_ = State::checksum_low;
      break;
    case State::checksum_low: {
      state_ = State::idle;
      int low = hex_digit(c);
      if (high_ < 0 || low < 0 || high_ * 16 + low != sum_ || too_long_)
        return FrameEvent{Kind::corrupted, {}};
      return FrameEvent{Kind::packet, std::move(payload_)};
    }
    }
  }
  return std::nullopt;
}

bool FrameDecoder::take_interrupt() {
  if (state_ != State::idle) return false;
  while (used_ < input_.size()) {
    char c = input_[used_];
    if (c == '$') return false;
    ++used_;
    if (c == kInterrupt) return true;
  }
  return false;
}

std::string encode_frame(std::string_view payload) {
  std::string body;
  body.reserve(payload.size() + 16);
  for (size_t i = 0; i < payload.size();) {
    char c = payload[i];
    if (needs_escape(c)) {
      body += '}';
      body += static_cast<char>(c ^ 0x20);
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < payload.size() && payload[end] == c)
      ++end;
    append_run(body, c, end - i);
    i = end;
  }
  uint8_t sum = 0;
  for (char c : body)
    sum += static_cast<uint8_t>(c);
  return "$" + body + "#" + to_hex_byte(sum);
}

} // namespace rdb::gdb
