// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frames survive being cut into pieces, noise and damage; what is encoded decodes to the same.
#include "rdbtool/gdb/protocol/framing.h"

#include <gtest/gtest.h>
#include <random>

namespace rdb::gdb {
namespace {

using Kind = FrameEvent::Kind;

// Undoes the run lengths that only the server uses.
std::string without_runs(std::string_view frame) {
  std::string out;
  for (size_t i = 0; i < frame.size(); ++i) {
    if (frame[i] == '*' && i > 0) {
      out.append(static_cast<size_t>(frame[i + 1] - 29), out.back());
      ++i;
    } else {
      out += frame[i];
    }
  }
  return out;
}

// The payload in a frame, checked on the way.
std::string payload_of(const std::string& frame) {
  EXPECT_EQ(frame.front(), '$');
  size_t end = frame.rfind('#');
  std::string body = frame.substr(1, end - 1);
  unsigned sum = 0;
  for (char c : body)
    sum += static_cast<unsigned char>(c);
  EXPECT_EQ(std::stoul(frame.substr(end + 1), nullptr, 16), sum & 0xff);
  // Escapes may be part of runs only as a whole, so runs come first.
  std::string raw = without_runs(body), payload;
  for (size_t i = 0; i < raw.size(); ++i)
    payload += raw[i] == '}' ? static_cast<char>(raw[++i] ^ 0x20) : raw[i];
  return payload;
}

TEST(Framing, PacketArrivesInPieces) {
  FrameDecoder decoder;
  std::string frame = "$m400000,10#1e";
  for (char c : frame.substr(0, frame.size() - 1)) {
    decoder.feed(std::string(1, c));
    EXPECT_FALSE(decoder.next());
  }
  decoder.feed(frame.substr(frame.size() - 1) + "+");
  auto event = decoder.next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Kind::packet);
  EXPECT_EQ(event->payload, "m400000,10");
  EXPECT_EQ(decoder.next()->kind, Kind::ack);
  EXPECT_FALSE(decoder.next());
}

TEST(Framing, WrongChecksumIsReportedAndTheNextPacketIsGood) {
  FrameDecoder decoder;
  decoder.feed("$g#00$g#67");
  EXPECT_EQ(decoder.next()->kind, Kind::corrupted);
  EXPECT_EQ(decoder.next()->kind, Kind::packet);
}

TEST(Framing, EscapesAreUndone) {
  FrameDecoder decoder;
  decoder.feed("$X}\x03}\x04}]#");
  unsigned sum = 'X' + '}' + 3 + '}' + 4 + '}' + ']';
  char digits[3];
  snprintf(digits, sizeof digits, "%02x", sum & 0xff);
  decoder.feed(digits);
  EXPECT_EQ(decoder.next()->payload, "X#$}");
}

TEST(Framing, InterruptCountsOnlyBetweenPackets) {
  FrameDecoder decoder;
  decoder.feed("\x03");
  EXPECT_EQ(decoder.next()->kind, Kind::interrupt);
  decoder.feed("+\x03");
  EXPECT_TRUE(decoder.take_interrupt());
  EXPECT_FALSE(decoder.take_interrupt());
  decoder.feed("$g\x03");
  EXPECT_FALSE(decoder.take_interrupt());
}

TEST(Framing, PacketThatWasCutOffDoesNotSpoilTheNext) {
  FrameDecoder decoder;
  decoder.feed("$m4000$g#67");
  EXPECT_EQ(decoder.next()->payload, "g");
}

TEST(Framing, OverlongPacketIsBounded) {
  FrameDecoder decoder;
  decoder.feed("$");
  for (int i = 0; i < 300; ++i) {
    decoder.feed(std::string(1000, 'a'));
    EXPECT_FALSE(decoder.next());
  }
  decoder.feed("#00");
  EXPECT_EQ(decoder.next()->kind, Kind::corrupted);
}

TEST(Framing, EveryRunLengthReadsBack) {
  for (size_t length = 1; length < 400; ++length) {
    std::string text(length, '0');
    std::string frame = encode_frame(text);
    EXPECT_EQ(payload_of(frame), text) << length;
    if (length > 20) {
      EXPECT_LT(frame.size(), length);
    }
    // A count must not look like the end or the start of a packet.
    EXPECT_EQ(frame.find('#'), frame.rfind('#')) << length;
    EXPECT_EQ(frame.rfind('$'), 0u) << length;
  }
}

TEST(Framing, RandomPayloadsReadBack) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 64, '\0');
    for (char& c : text)
      c = "#$}*0a\x03\x7f\xff"[random() % 9];
    EXPECT_EQ(payload_of(encode_frame(text)), text);
  }
}

} // namespace
} // namespace rdb::gdb
