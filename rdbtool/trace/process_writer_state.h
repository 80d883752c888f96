// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of a ProcessWriter, shared with TraceWriter which makes it.
#pragma once

#include "rdbtool/trace/block_writer.h"
#include "rdbtool/trace/record_codec.h"
#include "rdbtool/trace/writer.h"

namespace rdb::trace {

// A log file and the block that is being filled for it.
struct LogState {
  BlockWriter file;
  ByteSink sink;
  CodecState codec;
  BlockHeader header = {};
};

struct ProcessWriter::State {
  std::string name;
  LogState inputs;
  LogState chunks;
  Time last_time;       // nothing may be earlier
  Time last_input_time; // ordinals count the inputs of one time
  Time chunk_time;      // when the turns logged so far end
  uint64_t chunk_count = 0;
  uint32_t ordinal = 0;
  bool started = false;
  bool inside_input = false; // the last record has Input::more
  bool closed = false;
};

} // namespace rdb::trace
