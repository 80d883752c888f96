// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One of the two logs of a process, a record at a time. A reader trusts nothing: sizes are bounded before
// memory is taken, every block is checked before it is used. Whatever is wrong with a log, the inputs and
// chunks before it are handed out, and end() names the place.
//
// All reading is by pread into the reader's own memory, so a reader survives fork: both copies go on alone.
#pragma once

#include "rdbtool/trace/format/input.h"
#include "rdbtool/trace/format/log_end.h"

#include <memory>
#include <string>

namespace rdb::trace {

struct LogTail;

template <class Record>
class LogReader {
public:
  // Use TraceReader::inputs() and chunks(). Opening a file of another kind, trace or version is a UserError.
  // `tail`: what a recorder that was killed had not written to the file yet; may be null.
  LogReader(const std::string& path, const std::string& trace_id, std::shared_ptr<const LogTail> tail = {});
  LogReader(LogReader&&) noexcept;
  LogReader& operator=(LogReader&&) noexcept;
  ~LogReader();

  // The next record, or null at the end. Valid until the next call.
  const Record* next();
  // The same without taking it.
  const Record* peek();
  // Makes next() give the first input at or after `time`, or the chunk in which it lies or the one after.
  // Seeks to its block, does not read what lies before.
  void seek(Time time);
  // Why there is no more; meaningful once next() or peek() has given null.
  const LogEnd& end() const;

  // Where the log ends as far as its block headers tell, without reading it: the time of the last record.
  Time last_time();
  uint64_t count(); // records, likewise

private:
  friend class RunReader;
  struct State;
  std::unique_ptr<State> state_;
};

// A chunk with the times it covers: (begin, begin + instructions].
struct TimedChunk {
  Chunk chunk;
  Time begin;
  Time end() const { return begin + chunk.instructions; }
};

using InputReader = LogReader<Input>;
using ChunkReader = LogReader<TimedChunk>;

} // namespace rdb::trace
