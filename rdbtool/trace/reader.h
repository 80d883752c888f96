// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a trace and trusts nothing in it: sizes are bounded before memory is taken, every block is checked
// before it is used. Whatever is wrong with a log, the inputs and chunks before it are handed out, and end()
// names the place. Opening what is no trace, or another version's, is a UserError.
//
// All reading is by pread into the reader's own memory, so a reader survives fork: both copies go on alone.
#pragma once

#include "rdbtool/trace/input.h"
#include "rdbtool/trace/log_end.h"
#include "rdbtool/trace/metadata.h"
#include "rdbtool/trace/process_info.h"
#include "rdbtool/trace/store.h"

#include <memory>
#include <string>
#include <vector>

namespace rdb::trace {

struct LogTail;

// One of the two logs of a process, a record at a time.
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

// What replay does next: let `thread` run until `until`, then apply `input` if there is one. Without one, the
// thread's turn ends there. Inputs that share a time come as steps that run nothing.
struct Step {
  ThreadId thread;
  Time until;
  const Input* input = nullptr;
};

// A system call that changes nothing but its result and at most one piece of memory.
struct LoggedCall {
  Time time;
  SyscallInput call;
  MemoryWrite write; // of size 0 if there is none
};

// Both logs of a process, merged: the whole run as a list of steps. After a cut it ends where the shorter log
// does; a turn that was cut off ends with its last input.
class RunReader {
public:
  RunReader(InputReader inputs, ChunkReader chunks);
  // The next step, or null at the end. Valid until the next call.
  const Step* next();
  // Takes the system calls of one thread's turn that come next, as long as there is nothing else between
  // them, `wanted` takes them and they lie after `from` and not after `to`. What next() gives then comes
  // behind them in the same turn; they are valid until the call after that.
  void take_calls(Time from, Time to, bool (*wanted)(const SyscallInput&), std::vector<LoggedCall>& calls);
  // Why there is no more: the end of the log that ended first.
  const LogEnd& end() const;

private:
  const Step* step(ThreadId thread, Time until, const Input* input);
  const Step* finish(bool for_lack_of_chunks);
  const Step* without_chunk(const Input& input);

  InputReader inputs_;
  ChunkReader chunks_;
  Step step_;
  bool lacks_chunks_ = false;
};

class TraceReader {
public:
  // `name`: a directory, the name of a trace in trace_root(), or empty for the latest.
  explicit TraceReader(const std::string& name);
  ~TraceReader();

  const std::string& path() const;
  const Metadata& metadata() const;
  // In the order in which they started; the first is the one that rdb record spawned.
  const std::vector<ProcessInfo>& processes() const;

  InputReader inputs(const ProcessInfo& process) const;
  ChunkReader chunks(const ProcessInfo& process) const;
  RunReader run(const ProcessInfo& process) const;
  const ContentStore& files() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace rdb::trace
