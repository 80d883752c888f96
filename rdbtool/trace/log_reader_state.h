// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The insides of the readers of the two logs, which RunReader looks into.
#pragma once

#include "rdbtool/trace/format/block_reader.h"
#include "rdbtool/trace/format/record_codec.h"
#include "rdbtool/trace/log_reader.h"

namespace rdb::trace {

// A place in a log of either kind.
struct LogPlace {
  BlockReader blocks;
  RecordSource source; // what is left of the block
  uint32_t left = 0;   // records in it
  CodecState codec;
  bool in_order = false; // the block before was read, too
  bool have = false;     // a record has been looked at, not taken
  bool ended = false;
  Time last_time;     // of the last record taken
  uint64_t taken = 0; // how many records were taken, from the first of the log

  LogPlace(const std::string& path, LogKind kind, const std::string& trace_id,
           std::shared_ptr<const LogTail> tail)
      : blocks(path, kind, trace_id, std::move(tail)) {}
  void begin_block();
  // The log ends here, for this reason; false.
  bool damaged(const char* reason);
};

template <>
struct LogReader<Input>::State : LogPlace {
  Input record;
  std::vector<MemoryWrite> writes;
  uint32_t ordinal = 0;
  ThreadId input_thread; // of the record before
  bool inside = false;   // the record before has Input::more
  bool first_in_block = false;

  State(const std::string& path, const std::string& trace_id, std::shared_ptr<const LogTail> tail)
      : LogPlace(path, LogKind::inputs, trace_id, std::move(tail)) {}
  bool load();
  bool decode_one();
  bool rest_is_there();
  Time record_time() const { return record.at.time; }
  bool begins_at(Time time) const { return record.at.time >= time && !record.continued; }
};

template <>
struct LogReader<TimedChunk>::State : LogPlace {
  TimedChunk record;

  State(const std::string& path, const std::string& trace_id, std::shared_ptr<const LogTail> tail)
      : LogPlace(path, LogKind::chunks, trace_id, std::move(tail)) {}
  bool load();
  bool decode_one();
  Time record_time() const { return record.end(); }
  bool begins_at(Time time) const { return record.end() >= time; }
};

} // namespace rdb::trace
