// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of a ProcessWriter, shared with TraceWriter which makes it.
#pragma once

#include "rdbtool/trace/format/block_writer.h"
#include "rdbtool/trace/format/record_codec.h"
#include "rdbtool/trace/process_writer.h"

namespace rdb::trace {

// A log file and the block that is being filled for it.
struct LogState {
  BlockWriter file;
  RecordSink sink;
  CodecState codec;
  BlockHeader header = {};

  size_t size() const { return sink.bytes.size() + sink.hashes.size(); }
  size_t capacity() const { return sink.bytes.capacity() + sink.hashes.capacity(); }
  void clear() {
    sink.bytes.clear();
    sink.hashes.clear();
  }
  void release() {
    sink.bytes.release();
    sink.hashes.release();
  }
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
  Time written; // how far the files go
};

} // namespace rdb::trace
