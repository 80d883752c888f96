// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/ring/frame_decoder.h"

#include "rdbtool/trace/format/record_codec.h"
#include "rdbtool/trace/ring/ring.h"

#include <cstring>

namespace rdb::trace {
namespace {

class FrameCursor {
public:
  explicit FrameCursor(std::span<const uint8_t> bytes) : left_(bytes) {}
  // Null if there are fewer.
  const uint8_t* take(uint64_t size) {
    if (size > left_.size()) return nullptr;
    const uint8_t* p = left_.data();
    left_ = left_.subspan(size);
    return p;
  }
  template <class T>
  bool copy(T& out) {
    const uint8_t* p = take(padded(sizeof out));
    if (p != nullptr) std::memcpy(static_cast<void*>(&out), p, sizeof out);
    return p != nullptr;
  }

private:
  std::span<const uint8_t> left_;
};

template <class Enum>
bool in_range(Enum value, Enum last) {
  return static_cast<unsigned>(value) >= 1 && value <= last;
}

// A bool read from wild memory may hold any byte; looking at it as a bool would be undefined.
void make_bool(bool& flag) {
  uint8_t raw;
  std::memcpy(&raw, &flag, 1);
  flag = raw != 0;
}

bool check(StartInput& x) {
  return in_range(x.origin, ProcessOrigin::execed);
}
bool check(SyscallInput& x) {
  make_bool(x.checks_data);
  return x.output <= OutputStream::terminal;
}
bool check(SignalInput& x) {
  make_bool(x.synchronous);
  return in_range(x.action, SignalOutcome::ignored);
}
bool check(InstructionInput& x) {
  return in_range(x.op, InstructionOp::other) && x.count <= std::size(x.values);
}
bool check(MapInput& x) {
  make_bool(x.has_file);
  return in_range(x.op, MapOp::view);
}
bool check(OutputInput& x) {
  return in_range(x.stream, OutputStream::terminal);
}
bool check(ExitInput& x) {
  make_bool(x.by_signal);
  return true;
}
template <class T>
bool check(T&) {
  return true;
}

void set_text(StartInput& x, std::string_view text) {
  x.program = text;
}
void set_text(MapInput& x, std::string_view text) {
  x.path = text;
}
void set_text(PartialInput& x, std::string_view text) {
  x.vectors = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
void set_text(OutputInput& x, std::string_view text) {
  x.bytes = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
template <class T>
void set_text(T&, std::string_view) {}

template <class T>
bool take_payload(FrameCursor& cursor, uint32_t text_size, Input& input) {
  T& payload = input.payload.emplace<T>();
  if (!cursor.copy(payload)) return false;
  // The pointers in the copy are the other process's.
  set_text(payload, {});
  if (!check(payload)) return false;
  const uint8_t* text = cursor.take(padded(text_size));
  if (text == nullptr) return false;
  set_text(payload, {reinterpret_cast<const char*>(text), text_size});
  return true;
}

bool take_payload_of(InputKind kind, FrameCursor& cursor, uint32_t text_size, Input& input) {
  switch (kind) {
  case InputKind::start:
    return take_payload<StartInput>(cursor, text_size, input);
  case InputKind::syscall:
    return take_payload<SyscallInput>(cursor, text_size, input);
  case InputKind::signal:
    return take_payload<SignalInput>(cursor, text_size, input);
  case InputKind::instruction:
    return take_payload<InstructionInput>(cursor, text_size, input);
  case InputKind::memory:
    input.payload.emplace<MemoryInput>();
    return true;
  case InputKind::map:
    return take_payload<MapInput>(cursor, text_size, input);
  case InputKind::checksum:
    return take_payload<ChecksumInput>(cursor, text_size, input);
  case InputKind::output:
    return take_payload<OutputInput>(cursor, text_size, input);
  case InputKind::thread_start:
    return take_payload<ThreadStartInput>(cursor, text_size, input);
  case InputKind::thread_end:
    return take_payload<ThreadEndInput>(cursor, text_size, input);
  case InputKind::exit:
    return take_payload<ExitInput>(cursor, text_size, input);
  case InputKind::partial:
    return take_payload<PartialInput>(cursor, text_size, input);
  }
  return false;
}

} // namespace

bool decode_frame(std::span<const uint8_t> available, uint64_t position, DecodedFrame& out, CheckOf check) {
  RingFrame frame;
  if (available.size() < sizeof frame) return false;
  std::memcpy(&frame, available.data(), sizeof frame);
  const size_t size = frame.size();
  if (size < sizeof frame || size > available.size() || size > kMaxRecordData || frame.text_size > size)
    return false;
  bool checked = check == CheckOf::every_frame || frame.words < kLongFrame;
  if (checked && frame.check != frame_check(available.data(), frame.words, position)) return false;
  out.size = size;
  out.is_chunk = frame.kind == kChunkFrame;
  if (out.is_chunk) {
    out.chunk = {ThreadId(frame.thread), frame.time};
    return true;
  }
  FrameCursor cursor(available.subspan(sizeof frame, size - sizeof frame));
  Input& input = out.input;
  input.at = {Time(frame.time), 0};
  input.thread = ThreadId(frame.thread);
  input.more = frame.more != 0;
  if (!take_payload_of(static_cast<InputKind>(frame.kind), cursor, frame.text_size, input)) return false;
  out.writes.clear();
  for (unsigned i = 0; i < frame.writes; ++i) {
    FrameWrite write;
    if (!cursor.copy(write) || write.size > size) return false;
    const uint8_t* data = cursor.take(padded(write.size));
    if (data == nullptr) return false;
    out.writes.push_back({GuestAddr(write.address), data, write.size});
  }
  input.writes = out.writes;
  return true;
}

} // namespace rdb::trace
