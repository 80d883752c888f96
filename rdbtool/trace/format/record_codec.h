// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One record of a log as bytes inside a block. Times, threads and addresses are written as differences to the
// record before; a block starts afresh, so that it can be read without the ones before it.
// docs/trace-format.md describes the bytes.
#pragma once

#include "rdbtool/trace/format/byte_io.h"
#include "rdbtool/trace/format/input.h"

#include <vector>

namespace rdb::trace {

// What differences refer to. Reset at the start of each block, with `time` the block's first.
struct CodecState {
  Time time;
  ThreadId thread;
  GuestAddr write_end;  // where the last memory write ended
  uint64_t counter = 0; // the last time stamp counter
};

// The bytes of memory writes and text that one record may hold; see Input::more.
inline constexpr size_t kMaxRecordData = 128 << 10;

// The bytes of a block's records. Hashes look random: kept apart they cost no time in the compressor.
struct RecordSink {
  ByteSink bytes;
  ByteSink hashes;
};
struct RecordSource {
  ByteSource bytes;
  ByteSource hashes;
};

void encode(const Input& input, CodecState& state, RecordSink& out);

// Fills everything but Input::at.ordinal and Input::continued. `writes` is the memory behind input.writes;
// all bytes stay in the source's buffer. False if the bytes are no record.
bool decode(RecordSource& in, CodecState& state, Input& input, std::vector<MemoryWrite>& writes);

void encode(const Chunk& chunk, CodecState& state, RecordSink& out);
bool decode(RecordSource& in, CodecState& state, Chunk& chunk);

} // namespace rdb::trace
