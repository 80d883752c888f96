// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parent's side of recording: drains the rings of all processes of the tree into a TraceWriter, stores
// the files they map, and hands out rings for their children. Has no thread of its own: the driver waits on
// fd() and calls pump(). A producer that dies in the middle of anything costs its unfinished input and
// nothing else.
#pragma once

#include "rdbtool/trace/ring/log_producer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdb::trace {

class TraceWriter;

class LogConsumer {
public:
  // `memory` bounds all rings and buffers together.
  explicit LogConsumer(TraceWriter& writer, size_t memory = 256 << 20);
  ~LogConsumer();

  // A ring for a process that the caller is about to start; attach a LogProducer to it on the other side of
  // the fork. The caller closes its copies (LogProducer::close_ends) once the child has them: a process
  // counts as dead when nobody holds its control descriptor. Throws Limit when there are too many processes
  // for `memory`.
  ProducerEnds open_process();

  // In a forked child that does not exec: lets go of everything, touching nothing that the parent sees.
  // Otherwise the child would hold its own control socket's other end, and never notice the parent's death.
  void forget_in_child();

  // Becomes readable when there is something to do; call pump() then, and after timeout_ms() in any case.
  int fd() const;
  int timeout_ms() const; // for poll: -1 is forever
  // Takes what the rings hold and answers requests. Does not wait.
  void pump();

  // The processes that are recorded now; and whether one is or was.
  std::vector<int32_t> processes() const;
  bool has_recorded(int32_t pid) const;

  // No producer is left: each has finished or died.
  bool idle() const;
  // Tells all producers to stop: their next append returns false.
  void stop(LogStop reason);
  // kDiskFull once writing has failed, or what stop() was told.
  LogStop stopped() const;
  // kDiskFull: what could not be written, and why. kRequested: what a process said when it asked for the end.
  const std::string& failure() const;

  // Drains everything there is and closes the logs. Producers that still live are stopped first.
  void finish();

  // Of the first process, for TraceEnd: how it ended, if it did.
  const std::optional<ExitInput>& exit() const;
  // Likewise, why it could not be recorded any further; empty if it could.
  const std::string& gave_up() const;

private:
  struct Producer;
  static bool is_gone(const Producer& producer);
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace rdb::trace
