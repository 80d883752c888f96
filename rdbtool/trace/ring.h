// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shared memory through which a recorded process hands over its log, and the messages on the socket
// beside it. One page of header, then `capacity` bytes of frames, mapped twice in a row by both sides so that
// no frame wraps.
//
// The memory is a file in the trace, so that a kill of the recorder, of the process or of both loses nothing
// that the process has logged: what is not in the log files yet is read from there (ring_file.h). Room is
// therefore given back only when the log files hold what was in it. The header says up to where they do.
#pragma once

#include "rdbtool/trace/input.h"
#include "rdbtool/trace/log_producer.h"

#include <atomic>

namespace rdb::trace {

inline constexpr uint64_t kRingMagic = 0x32676e6972626472; // "rdbring2"
inline constexpr size_t kRingHeaderSize = 4096;
inline constexpr size_t kMinRing = 32 << 10;
inline constexpr size_t kMaxRing = 1 << 20;

// Where a log file ends.
struct LogFileState {
  uint64_t size = 0;
  uint64_t sequence = 0; // blocks
  uint64_t records = 0;
};

// What the log files hold when all frames before `tail` are in them, and what it takes to go on from there.
struct RingSettled {
  uint64_t tail = 0;
  LogFileState inputs;
  LogFileState chunks;
  uint64_t last_time = 0;
  uint64_t last_input_time = 0;
  uint64_t chunk_time = 0;
  uint64_t chunk_count = 0;
  uint32_t ordinal = 0;
  uint8_t started = 0;
  uint8_t inside_input = 0;
  uint8_t padding[2] = {};
};

// After a crash of the machine nobody knows which pages of a file are the newer ones.
struct BootId {
  char text[40];
};

struct RingHeader {
  uint64_t magic;
  uint64_t capacity; // a power of two; bytes after the header page
  BootId boot;       // empty: it could not be found out

  // Written by the producer.
  alignas(64) std::atomic<uint64_t> head; // bytes ever written; frames before it are whole

  // Written by the consumer.
  alignas(64) std::atomic<uint64_t> tail; // bytes ever taken
  std::atomic<uint32_t> stop;             // a StopReason
  std::atomic<uint64_t> settlements;      // the last one is settled[settlements % 2]
  RingSettled settled[2];

  // How the producer waits for room: it sets `waiting` and sleeps on `wake`.
  alignas(64) std::atomic<uint32_t> wake;
  std::atomic<uint32_t> waiting;
};
static_assert(sizeof(RingHeader) <= kRingHeaderSize);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// One record in the ring; the fixed part of the payload, text, and memory writes follow, each padded to eight
// bytes.
struct Frame {
  uint32_t size;   // of everything, a multiple of eight
  uint8_t kind;    // an InputKind, or kChunkFrame
  uint8_t more;    // Input::more
  uint16_t writes; // how many
  int32_t thread;
  uint32_t text_size; // of the path or the bytes that belong to the payload
  uint64_t time;      // kChunkFrame: the instructions
};
static_assert(sizeof(Frame) == 24);

inline constexpr uint8_t kChunkFrame = 0xff;

// Before the bytes of each memory write.
struct FrameWrite {
  uint64_t address;
  uint64_t size;
};

constexpr size_t padded(size_t size) {
  return (size + 7) & ~size_t{7};
}

// The largest frame that a producer makes: several must fit, and a block must have room for one.
constexpr size_t max_frame(uint64_t capacity) {
  return capacity / 4 < (64 << 10) ? capacity / 4 : 64 << 10;
}

// Longer paths cannot be opened, so none is.
inline constexpr size_t kMaxText = 4096;

enum class ControlKind : uint32_t {
  kDoorbell = 1,    // look at the ring; no reply
  kDrain = 2,       // take and write everything, then reply
  kStoreFile = 3,   // a descriptor comes with it; `text` is its path
  kNewRing = 4,     // reply with a ring and a socket for a child
  kEndAll = 5,      // the recording of all processes ends here; `text` says why
  kGiveUp = 6,      // this process cannot be recorded any further; `text` says why
  kSharedFiles = 7, // `text` is an array of SharedFile
  kIsRecorded = 8,  // whether the process whose number is in `time` is recorded; 0: whether several are
};

struct ControlMessage {
  ControlKind kind;
  ProcessOrigin origin; // kNewRing
  uint8_t padding[3];
  uint64_t time; // kNewRing. kSharedFiles: how many files were told before
  uint32_t text_size;
  char text[kMaxText];
};

struct ControlReply {
  uint32_t error;  // 0 or an errno value
  int32_t process; // kSharedFiles: the one that is in the way. kIsRecorded: 1 or 0
  uint64_t which;  // and the number of its file
  ContentId file;
};

} // namespace rdb::trace
