// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encoding and decoding of records, one pair of functions per payload, side by side. A decoder accepts
// exactly what its encoder can write: enumerations are checked, sizes are bounded by the bytes that are
// there.
#include "rdbtool/trace/format/record_codec.h"

namespace rdb::trace {
namespace {

// The first byte of a record: the kind in the low four bits, then these.
constexpr uint8_t kKindMask = 0x0f;
constexpr uint8_t kOtherThread = 0x10; // a thread id follows
constexpr uint8_t kMore = 0x20;        // Input::more
constexpr uint8_t kHasWrites = 0x40;   // memory writes end the record
constexpr uint8_t kHasOutput = 0x80;   // kSyscall: a byte with an output stream follows, and this:
constexpr uint8_t kChecksData = 0x80;  // SyscallInput::checks_data

template <class Enum>
bool read_enum(ByteSource& in, Enum& value, Enum last) {
  uint8_t raw = in.u8();
  value = static_cast<Enum>(raw);
  return raw >= 1 && raw <= static_cast<uint8_t>(last);
}

bool read_flag(ByteSource& in, bool& value) {
  uint8_t raw = in.u8();
  value = raw == 1;
  return raw <= 1;
}

bool read_i32(ByteSource& in, int32_t& value) {
  int64_t wide = in.svarint();
  value = static_cast<int32_t>(wide);
  return value == wide;
}

std::string_view read_text(ByteSource& in) {
  auto bytes = in.sized_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void put(const StartInput& x, CodecState&, ByteSink& out) {
  out.u8(static_cast<uint8_t>(x.origin));
  out.svarint(x.pid);
  out.svarint(x.parent_pid);
  out.varint(x.parent_time.value);
  for (uint64_t value : x.registers.gpr)
    out.varint(value);
  for (uint64_t value : {x.registers.rip, x.registers.rflags, x.registers.fs_base, x.registers.gs_base})
    out.varint(value);
  out.varint(x.auxv.value);
  out.varint(x.auxv_size);
  out.varint(x.brk.value);
  out.varint(x.blocked);
  out.varint(x.ignored);
  out.sized_bytes(x.program.data(), x.program.size());
}

bool get(ByteSource& in, CodecState&, StartInput& x) {
  if (!read_enum(in, x.origin, ProcessOrigin::execed) || !read_i32(in, x.pid) || !read_i32(in, x.parent_pid))
    return false;
  x.parent_time = Time(in.varint());
  for (uint64_t& value : x.registers.gpr)
    value = in.varint();
  for (uint64_t* value : {&x.registers.rip, &x.registers.rflags, &x.registers.fs_base, &x.registers.gs_base})
    *value = in.varint();
  x.auxv = GuestAddr(in.varint());
  x.auxv_size = in.varint();
  x.brk = GuestAddr(in.varint());
  x.blocked = in.varint();
  x.ignored = in.varint();
  x.program = read_text(in);
  return true;
}

bool has_output_byte(const SyscallInput& x) {
  return x.output != OutputStream::none || x.checks_data;
}

void put(const SyscallInput& x, CodecState&, RecordSink& sink) {
  ByteSink& out = sink.bytes;
  if (has_output_byte(x)) out.u8(static_cast<uint8_t>(x.output) | (x.checks_data ? kChecksData : 0));
  out.varint(x.number);
  out.svarint(x.result);
  sink.hashes.u64(x.hash);
}

bool get(RecordSource& source, CodecState&, SyscallInput& x, uint8_t tag) {
  ByteSource& in = source.bytes;
  if ((tag & kHasOutput) != 0) {
    uint8_t raw = in.u8();
    x.checks_data = (raw & kChecksData) != 0;
    x.output = static_cast<OutputStream>(raw & ~kChecksData);
    if (raw == 0 || x.output > OutputStream::terminal) return false;
  }
  uint64_t number = in.varint();
  x.number = static_cast<uint32_t>(number);
  x.result = in.svarint();
  x.hash = source.hashes.u64();
  return x.number == number;
}

void put(const SignalInput& x, CodecState&, RecordSink& sink) {
  ByteSink& out = sink.bytes;
  sink.hashes.u64(x.hash);
  out.svarint(x.number);
  out.u8(static_cast<uint8_t>(x.action));
  out.u8(x.synchronous);
  out.varint(x.handler.value);
  out.varint(x.frame.value);
  out.varint(x.xsave_size);
  out.varint(x.action_flags);
  out.u64(x.mask);
  out.varint(x.trap_number);
  out.varint(x.error_code);
  out.varint(x.fault_address.value);
  out.bytes(x.siginfo, sizeof x.siginfo);
}

bool get(RecordSource& source, CodecState&, SignalInput& x) {
  ByteSource& in = source.bytes;
  x.hash = source.hashes.u64();
  if (!read_i32(in, x.number) || !read_enum(in, x.action, SignalOutcome::ignored) ||
      !read_flag(in, x.synchronous))
    return false;
  x.handler = GuestAddr(in.varint());
  x.frame = GuestAddr(in.varint());
  uint64_t size = in.varint();
  x.xsave_size = static_cast<uint32_t>(size);
  x.action_flags = in.varint();
  x.mask = in.u64();
  x.trap_number = in.varint();
  x.error_code = in.varint();
  x.fault_address = GuestAddr(in.varint());
  if (const uint8_t* p = in.take(sizeof x.siginfo)) std::memcpy(x.siginfo, p, sizeof x.siginfo);
  return x.xsave_size == size;
}

bool counts_time(InstructionOp op) {
  return op == InstructionOp::rdtsc || op == InstructionOp::rdtscp;
}

void put(const InstructionInput& x, CodecState& state, ByteSink& out) {
  out.u8(static_cast<uint8_t>(x.op));
  out.u8(x.count);
  for (int i = 0; i < x.count; ++i) {
    if (i == 0 && counts_time(x.op)) {
      // Programs that read the counter read it often: the difference is half as long.
      out.svarint(static_cast<int64_t>(x.values[0] - state.counter));
      state.counter = x.values[0];
    } else {
      out.varint(x.values[i]);
    }
  }
}

bool get(ByteSource& in, CodecState& state, InstructionInput& x) {
  if (!read_enum(in, x.op, InstructionOp::other)) return false;
  x.count = in.u8();
  if (x.count > std::size(x.values)) return false;
  for (int i = 0; i < x.count; ++i) {
    if (i == 0 && counts_time(x.op))
      x.values[0] = state.counter += static_cast<uint64_t>(in.svarint());
    else
      x.values[i] = in.varint();
  }
  return true;
}

void put(const MemoryInput&, CodecState&, ByteSink&) {}
bool get(ByteSource&, CodecState&, MemoryInput&) {
  return true;
}

bool is_of_object(MapOp op) {
  return op == MapOp::share || op == MapOp::view;
}

void put(const MapInput& x, CodecState&, ByteSink& out) {
  out.u8(static_cast<uint8_t>(x.op));
  out.u8(x.protection);
  out.varint(x.flags);
  out.varint(x.address.value);
  out.varint(x.length);
  if (x.op == MapOp::remap) {
    out.varint(x.old_address.value);
    out.varint(x.old_length);
  }
  if (is_of_object(x.op)) {
    out.varint(x.object);
    out.varint(x.offset);
    out.sized_bytes(x.path.data(), x.path.size());
    return;
  }
  out.u8(x.has_file);
  if (x.has_file) {
    out.varint(x.offset);
    out.u64(x.file.hash);
    out.varint(x.file.size);
    out.sized_bytes(x.path.data(), x.path.size());
  }
}

bool get(ByteSource& in, CodecState&, MapInput& x) {
  if (!read_enum(in, x.op, MapOp::view)) return false;
  x.protection = in.u8();
  uint64_t flags = in.varint();
  x.flags = static_cast<uint32_t>(flags);
  x.address = GuestAddr(in.varint());
  x.length = in.varint();
  if (x.op == MapOp::remap) {
    x.old_address = GuestAddr(in.varint());
    x.old_length = in.varint();
  }
  if (x.flags != flags) return false;
  if (is_of_object(x.op)) {
    x.object = in.varint();
    x.offset = in.varint();
    x.path = read_text(in);
    return x.object != 0;
  }
  if (!read_flag(in, x.has_file)) return false;
  if (x.has_file) {
    x.offset = in.varint();
    x.file.hash = in.u64();
    x.file.size = in.varint();
    x.path = read_text(in);
  }
  return true;
}

void put(const ChecksumInput& x, CodecState&, RecordSink& out) {
  out.hashes.u64(x.memory);
  out.hashes.u64(x.registers);
  out.bytes.varint(x.pages);
}

bool get(RecordSource& in, CodecState&, ChecksumInput& x) {
  x.memory = in.hashes.u64();
  x.registers = in.hashes.u64();
  x.pages = in.bytes.varint();
  return true;
}

void put(const OutputInput& x, CodecState&, ByteSink& out) {
  out.u8(static_cast<uint8_t>(x.stream));
  out.sized_bytes(x.bytes.data(), x.bytes.size());
}

bool get(ByteSource& in, CodecState&, OutputInput& x) {
  if (!read_enum(in, x.stream, OutputStream::terminal)) return false;
  x.bytes = in.sized_bytes();
  return true;
}

void put(const ThreadStartInput& x, CodecState&, ByteSink& out) {
  out.svarint(x.created.value);
  out.varint(x.stack.value);
  out.varint(x.tls.value);
  out.varint(x.clone_flags);
}

bool get(ByteSource& in, CodecState&, ThreadStartInput& x) {
  if (!read_i32(in, x.created.value)) return false;
  x.stack = GuestAddr(in.varint());
  x.tls = GuestAddr(in.varint());
  x.clone_flags = in.varint();
  return true;
}

void put(const ThreadEndInput& x, CodecState&, ByteSink& out) {
  out.svarint(x.status);
}
bool get(ByteSource& in, CodecState&, ThreadEndInput& x) {
  return read_i32(in, x.status);
}

void put(const ExitInput& x, CodecState&, ByteSink& out) {
  out.u8(x.by_signal);
  out.svarint(x.status);
}
bool get(ByteSource& in, CodecState&, ExitInput& x) {
  return read_flag(in, x.by_signal) && read_i32(in, x.status);
}

void put(const PartialInput& x, CodecState&, ByteSink& out) {
  for (uint64_t value : x.gpr)
    out.varint(value);
  out.varint(x.rflags);
  out.sized_bytes(x.vectors.data(), x.vectors.size());
}
bool get(ByteSource& in, CodecState&, PartialInput& x) {
  for (uint64_t& value : x.gpr)
    value = in.varint();
  x.rflags = in.varint();
  x.vectors = in.sized_bytes();
  return true;
}

void put(std::monostate, CodecState&, ByteSink&) {}

void put_writes(std::span<const MemoryWrite> writes, CodecState& state, ByteSink& out) {
  out.varint(writes.size());
  for (const MemoryWrite& write : writes) {
    out.svarint(static_cast<int64_t>(write.address - state.write_end));
    out.sized_bytes(write.data, write.size);
    state.write_end = write.address + write.size;
  }
}

bool get_writes(ByteSource& in, CodecState& state, std::vector<MemoryWrite>& writes) {
  uint64_t count = in.varint();
  // A write takes two bytes at least: a larger count is a lie, and no memory is taken for it.
  if (count == 0 || count > in.left() / 2) return false;
  for (uint64_t i = 0; i < count; ++i) {
    GuestAddr address = state.write_end + static_cast<uint64_t>(in.svarint());
    auto bytes = in.sized_bytes();
    if (in.failed()) return false;
    writes.push_back({address, bytes.data(), bytes.size()});
    state.write_end = address + bytes.size();
  }
  return true;
}

template <class T>
bool read_payload(RecordSource& in, CodecState& state, Input& input) {
  if constexpr (requires(T& x) { get(in, state, x); })
    return get(in, state, input.payload.emplace<T>());
  else
    return get(in.bytes, state, input.payload.emplace<T>());
}

// Most payloads have no hash in them.
template <class T>
void write_payload(const T& payload, CodecState& state, RecordSink& out) {
  if constexpr (requires { put(payload, state, out); })
    put(payload, state, out);
  else
    put(payload, state, out.bytes);
}

bool read_payload_of(uint8_t tag, RecordSource& in, CodecState& state, Input& input) {
  switch (static_cast<InputKind>(tag & kKindMask)) {
  case InputKind::start:
    return read_payload<StartInput>(in, state, input);
  case InputKind::syscall:
    return get(in, state, input.payload.emplace<SyscallInput>(), tag);
  case InputKind::signal:
    return read_payload<SignalInput>(in, state, input);
  case InputKind::instruction:
    return read_payload<InstructionInput>(in, state, input);
  case InputKind::memory:
    return read_payload<MemoryInput>(in, state, input);
  case InputKind::map:
    return read_payload<MapInput>(in, state, input);
  case InputKind::checksum:
    return read_payload<ChecksumInput>(in, state, input);
  case InputKind::output:
    return read_payload<OutputInput>(in, state, input);
  case InputKind::thread_start:
    return read_payload<ThreadStartInput>(in, state, input);
  case InputKind::thread_end:
    return read_payload<ThreadEndInput>(in, state, input);
  case InputKind::exit:
    return read_payload<ExitInput>(in, state, input);
  case InputKind::partial:
    return read_payload<PartialInput>(in, state, input);
  }
  return false;
}

} // namespace

void encode(const Input& input, CodecState& state, RecordSink& sink) {
  ByteSink& out = sink.bytes;
  uint8_t tag = static_cast<uint8_t>(input.payload.index());
  if (input.thread != state.thread) tag |= kOtherThread;
  if (input.more) tag |= kMore;
  if (!input.writes.empty()) tag |= kHasWrites;
  if (auto* call = std::get_if<SyscallInput>(&input.payload); call && has_output_byte(*call))
    tag |= kHasOutput;
  out.u8(tag);
  out.varint(input.at.time - state.time);
  if (input.thread != state.thread) out.svarint(input.thread.value);
  std::visit([&](const auto& payload) { write_payload(payload, state, sink); }, input.payload);
  if (!input.writes.empty()) put_writes(input.writes, state, out);
  state.time = input.at.time;
  state.thread = input.thread;
}

bool decode(RecordSource& source, CodecState& state, Input& input, std::vector<MemoryWrite>& writes) {
  ByteSource& in = source.bytes;
  uint8_t tag = in.u8();
  if ((tag & kHasOutput) != 0 && (tag & kKindMask) != static_cast<uint8_t>(InputKind::syscall)) return false;
  uint64_t delta = in.varint();
  if (delta > UINT64_MAX - state.time.value) return false;
  state.time += delta;
  if ((tag & kOtherThread) != 0 && !read_i32(in, state.thread.value)) return false;
  input.at.time = state.time;
  input.thread = state.thread;
  input.more = (tag & kMore) != 0;
  writes.clear();
  if (!read_payload_of(tag, source, state, input)) return false;
  if ((tag & kHasWrites) != 0 && !get_writes(in, state, writes)) return false;
  input.writes = writes;
  return !in.failed() && !source.hashes.failed();
}

void encode(const Chunk& chunk, CodecState& state, RecordSink& out) {
  out.bytes.svarint(chunk.thread.value - static_cast<int64_t>(state.thread.value));
  out.bytes.varint(chunk.instructions);
  state.thread = chunk.thread;
  state.time += chunk.instructions;
}

bool decode(RecordSource& source, CodecState& state, Chunk& chunk) {
  ByteSource& in = source.bytes;
  int64_t difference = in.svarint();
  if (difference > UINT32_MAX || difference < -int64_t{UINT32_MAX}) return false;
  int64_t thread = state.thread.value + difference;
  chunk.thread = ThreadId(static_cast<int32_t>(thread));
  chunk.instructions = in.varint();
  if (in.failed() || chunk.thread.value != thread || chunk.instructions > UINT64_MAX - state.time.value)
    return false;
  state.thread = chunk.thread;
  state.time += chunk.instructions;
  return true;
}

} // namespace rdb::trace
