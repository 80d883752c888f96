// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Both logs of a process, merged: the whole run as a list of steps.
#pragma once

#include "rdbtool/trace/log_reader.h"

#include <vector>

namespace rdb::trace {

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
  // after them in the same turn; they are valid until the call after that.
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

} // namespace rdb::trace
