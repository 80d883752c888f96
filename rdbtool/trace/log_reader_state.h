// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The insides of the readers of the two logs, which RunReader looks into.
#pragma once

#include "rdbtool/trace/block_reader.h"
#include "rdbtool/trace/reader.h"
#include "rdbtool/trace/record_codec.h"

namespace rdb::trace {

struct InputReader::State {
  BlockReader blocks;
  RecordSource source; // what is left of the block
  uint32_t left = 0;   // records in it
  CodecState codec;
  Input input;
  std::vector<MemoryWrite> writes;
  uint32_t ordinal = 0;
  ThreadId input_thread;            // of the record before
  bool inside = false;              // the record before has Input::more
  bool expect_continuation = false; // blocks are read in order, so `inside` is known across them
  bool first_in_block = false;
  bool have = false; // `input` has been looked at, not taken
  bool ended = false;
  Time last_time; // of the last record taken

  State(const std::string& path, const std::string& trace_id) : blocks(path, LogKind::kInputs, trace_id) {}
  bool load();
  bool decode_one();
  bool rest_is_there();
};

struct ChunkReader::State {
  BlockReader blocks;
  RecordSource source;
  uint32_t left = 0;
  CodecState codec;
  TimedChunk chunk;
  uint64_t taken = 0; // how many chunks next() has given, from the first of the log
  bool sequential = false;
  bool have = false;
  bool ended = false;
  Time last_time;

  State(const std::string& path, const std::string& trace_id) : blocks(path, LogKind::kChunks, trace_id) {}
  bool load();
  bool decode_one();
};

} // namespace rdb::trace
