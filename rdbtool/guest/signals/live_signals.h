// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a signal is delivered to a thread of a live process. The listener hears of it first, while the state
// is still as it was. Then the machine acts on it, just as in a replay: it ignores the signal, or pushes a
// frame for the guest's handler (Machine::deliver, in signal_delivery.cc). If it can do neither, the
// process ends here.
#pragma once

#include "rdbtool/guest/signals/signal_frame.h"
#include "rdbtool/guest/threads/thread_outcome.h"

namespace rdb::guest {

class Machine;
class MemoryCalls;
class ProcessEnd;
class ProcessListener;

class LiveSignals {
public:
  LiveSignals(Machine& machine, MemoryCalls& memory, ProcessEnd& end, ProcessListener& listener)
      : machine_(machine), memory_(memory), end_(end), listener_(listener) {}

  // To the current thread.
  ThreadOutcome deliver(const PendingSignal& signal);

private:
  Machine& machine_;
  MemoryCalls& memory_;
  ProcessEnd& end_;
  ProcessListener& listener_;
};

} // namespace rdb::guest
