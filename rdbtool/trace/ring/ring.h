// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shared memory through which a recorded process hands over its log, and the messages on the socket
// beside it. One page of header, then `capacity` bytes of frames, mapped twice in a row by both sides so that
// no frame wraps.
//
// The memory is a file in the trace, so that a kill of the recorder, of the process or of both loses nothing
// that the process has logged: what is not in the log files yet is read from there (ring_file.h). Room is
// therefore given back only when the log files hold what was in it. The header says up to where they do.
//
// A disk may damage the file, and after a crash of the machine some of its pages are older than others. So
// each frame has a checksum, which counts its place in the log as well: a frame of an earlier lap is no
// frame.
#pragma once

#include "rdbtool/base/hash.h"
#include "rdbtool/trace/format/input.h"
#include "rdbtool/trace/ring/log_producer.h"

#include <atomic>
#include <cstddef>

namespace rdb::trace {

inline constexpr uint64_t kRingMagic = 0x35676e6972626472; // "rdbring5"
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
  uint8_t close = 0; // a LogClose: nothing more is written to the log files; 0: more may come
  uint8_t padding = 0;
  uint64_t check = 0; // of all that stands before it

  uint64_t expected_check() const { return xxh64(this, offsetof(RingSettled, check)); }
};

// After a crash of the machine a ring may lack what its numbers promise; otherwise it is damaged then.
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
  std::atomic<uint32_t> stop;             // a LogStop
  std::atomic<uint64_t> settlements;      // the last one is settled[settlements % 2]
  RingSettled settled[2];

  // How the producer waits for room: it sets `waiting` and sleeps on `wake`.
  alignas(64) std::atomic<uint32_t> wake;
  std::atomic<uint32_t> waiting;

  alignas(64) FileFlags files;
};
static_assert(sizeof(RingHeader) <= kRingHeaderSize);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// One record in the ring; the fixed part of the payload, text, and memory writes follow, each padded to eight
// bytes.
struct RingFrame {
  uint32_t check;     // frame_check() of everything after it
  uint16_t words;     // of everything, eight bytes each
  uint16_t text_size; // of the path or the bytes that belong to the payload
  uint8_t kind;       // an InputKind, or kChunkFrame
  uint8_t more;       // Input::more
  uint16_t writes;    // how many
  int32_t thread;
  uint64_t time; // kChunkFrame: the instructions

  size_t size() const { return words * size_t{8}; }
};
static_assert(sizeof(RingFrame) == 24);

inline constexpr size_t kLongFrame = 128; // words

// Every recorded system call pays for this: a sum of the words and a sum of the sums, which tells their
// order, cost two additions a word. Each waits for the one before, so a long frame has four such pairs, each
// for every fourth word; to join them costs as much as a short frame. In a long frame a sum goes into the sum
// of the sums only once in 128 bytes, which leaves little more than to load each word; that additions and
// exclusive ors take turns tells the order there. `position`: of the frame's first byte among all bytes ever
// written. General registers only, as the producer needs it.
[[gnu::always_inline]] inline uint32_t frame_check(const uint8_t* frame, size_t words, uint64_t position) {
  using hash_detail::load64;
  uint64_t sum = position + (load64(frame) >> 32); // without the check itself
  uint64_t sums = sum;
  size_t i = 1;
  if (words >= kLongFrame) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    uint64_t as = 0, bs = 0, cs = 0, ds = 0;
    for (; i + 16 <= words; i += 16) {
      const uint8_t* at = frame + i * 8;
      a += load64(at), b += load64(at + 8), c += load64(at + 16), d += load64(at + 24);
      a ^= load64(at + 32), b ^= load64(at + 40), c ^= load64(at + 48), d ^= load64(at + 56);
      a += load64(at + 64), b += load64(at + 72), c += load64(at + 80), d += load64(at + 88);
      a ^= load64(at + 96), b ^= load64(at + 104), c ^= load64(at + 112), d ^= load64(at + 120);
      as += a, bs += b, cs += c, ds += d;
    }
    for (; i + 4 <= words; i += 4) {
      const uint8_t* at = frame + i * 8;
      as += a += load64(at);
      bs += b += load64(at + 8);
      cs += c += load64(at + 16);
      ds += d += load64(at + 24);
    }
    for (uint64_t one : {a, as, b, bs, c, cs, d, ds}) {
      sum += one;
      sums = (sums + sum) * hash_detail::kPrime3;
    }
  }
  for (; i < words; ++i) {
    sum += load64(frame + i * 8);
    sums += sum;
  }
  uint64_t mixed = sum * hash_detail::kPrime1;
  mixed = ((mixed ^ mixed >> 32) + sums) * hash_detail::kPrime2;
  return static_cast<uint32_t>(mixed >> 32);
}

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

static_assert(max_frame(kMaxRing) / 8 <= UINT16_MAX); // RingFrame::words

// Longer paths cannot be opened, so none is.
inline constexpr size_t kMaxText = 4096;

enum class ControlKind : uint32_t {
  doorbell = 1,          // look at the ring; no reply
  drain = 2,             // take and write everything, then reply
  store_file = 3,        // a descriptor comes with it; `text` is its path
  new_ring = 4,          // reply with a ring and a socket for a child
  end_all = 5,           // the recording of all processes ends here; `text` says why
  give_up = 6,           // this process cannot be recorded any further; `text` says why
  shared_files = 7,      // `text` is an array of SharedFile
  is_recorded = 8,       // whether the process whose number is in `time` is recorded; 0: whether several are
  begin_file_change = 9, // `text` is a FilePart; its part counts for the end only
  holding_process = 10,  // the one with the number `time` among those that hold on for the change
  end_file_change = 11,  // `text` is a FilePart
  take_file_change = 12,
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
  uint64_t which;  // and the number of its file. kBeginFileChange: how many processes hold on
  ContentId file;
  FilePart part; // kTakeFileChange: if `process` is 1
};

} // namespace rdb::trace
