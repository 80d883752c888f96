// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a trace and trusts nothing in it: sizes are bounded before memory is taken, every block is checked
// before it is used. Whatever is wrong with a log, the inputs and chunks before it are handed out, and end()
// names the place. Opening what is no trace, or another version's, is a UserError.
//
// All reading is by pread into the reader's own memory, so a reader survives fork: both copies go on alone.
#pragma once

#include "rdbtool/trace/input.h"
#include "rdbtool/trace/metadata.h"
#include "rdbtool/trace/store.h"
#include "rdbtool/trace/writer.h"

#include <memory>
#include <string>
#include <vector>

namespace rdb::trace {

// Why next() has no more.
struct LogEnd {
  enum class Kind : uint8_t {
    kClosed,  // the writer closed the log: see `close`
    kCut,     // the file ends without its last block: recorder killed, file truncated
    kDamaged, // bytes that do not fit
  };
  Kind kind = Kind::kCut;
  LogClose close = LogClose::kFinished; // kClosed
  Time time;                            // of the last record before the end
  std::string file;                     // path
  uint64_t offset = 0;                  // in the file
  std::string reason;                   // "checksum of block 7 does not match" ...

  bool complete() const { return kind == Kind::kClosed && close == LogClose::kFinished; }
  // One line for people: what, where, at which time.
  std::string describe() const;
};

class InputReader {
public:
  // Use TraceReader::inputs(). Opening a file of another kind, trace or version is a UserError.
  InputReader(const std::string& path, const std::string& trace_id);
  InputReader(InputReader&&) noexcept;
  InputReader& operator=(InputReader&&) noexcept;
  ~InputReader();

  // The next input, or null at the end. Valid until the next call.
  const Input* next();
  // The same without taking it.
  const Input* peek();
  // Makes next() give the first input at or after `time`. Seeks to its block, does not read what lies before.
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

class ChunkReader {
public:
  ChunkReader(const std::string& path, const std::string& trace_id);
  ChunkReader(ChunkReader&&) noexcept;
  ChunkReader& operator=(ChunkReader&&) noexcept;
  ~ChunkReader();

  const TimedChunk* next();
  const TimedChunk* peek();
  // Makes next() give the chunk in which `time` lies, or the one after it.
  void seek(Time time);
  const LogEnd& end() const;
  Time last_time();
  uint64_t count();

private:
  struct State;
  std::unique_ptr<State> state_;
};

// What replay does next: let `thread` run until `until`, then apply `input` if there is one. Without one, the
// thread's turn ends there. Inputs that share a time come as steps that run nothing.
struct Step {
  ThreadId thread;
  Time until;
  const Input* input = nullptr;
};

// Both logs of a process, merged: the whole run as a list of steps. After a cut it ends where the shorter log
// does; a turn that was cut off ends with its last input.
class RunReader {
public:
  RunReader(InputReader inputs, ChunkReader chunks);
  // The next step, or null at the end. Valid until the next call.
  const Step* next();
  // Why there is no more.
  const LogEnd& end() const;

private:
  InputReader inputs_;
  ChunkReader chunks_;
  Step step_;
  Time now_;
};

// What process.json and the folder's name say.
struct ProcessInfo {
  std::string name; // of the folder
  ProcessOrigin origin = ProcessOrigin::kSpawned;
  int32_t pid = 0;
  int32_t parent_pid = 0;
  std::string parent; // its folder; empty for the first process
  Time parent_time;
  std::string program;
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
