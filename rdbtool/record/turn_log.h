// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order in which threads ran, as the log has it: a chunk for each turn, with its thread and its length.
// The chunk of a turn must be in the log before the next turn adds anything to it. So a turn is ended here
// before the baton is given away, by the listener or, around a call that may block, by the executor.
#pragma once

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/record/shared_memory/shared_pages.h"
#include "rdbtool/trace/ring/log_producer.h"

#include <cstdint>

namespace rdb::record {

class TurnLog {
public:
  TurnLog(trace::LogProducer& log, SharedPages& shared) : log_(log), shared_(shared) {}

  // The log of the process begins now.
  void begin(Time now) { begin_ = now; }
  // The current thread's turn ends. What the process shares with others it lets go, since nobody knows when
  // it will run again.
  void end(const guest::Machine& machine);

private:
  trace::LogProducer& log_;
  SharedPages& shared_;
  Time begin_; // of the turn
};

} // namespace rdb::record
