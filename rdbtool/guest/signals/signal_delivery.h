// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a signal reaches a thread of a live process: the listener hears of it first, with the state as it is
// before, then the machine acts on it (Machine::deliver), and the process may end.
#pragma once

#include "rdbtool/guest/signals/signal_frame.h"
#include "rdbtool/guest/threads/next.h"

namespace rdb::guest {

class Machine;
class MemoryCalls;
class ProcessEnd;
class ProcessListener;

class SignalDelivery {
public:
  SignalDelivery(Machine& machine, MemoryCalls& memory, ProcessEnd& end, ProcessListener& listener)
      : machine_(machine), memory_(memory), end_(end), listener_(listener) {}

  // To the current thread.
  Next deliver(const PendingSignal& signal);

private:
  Machine& machine_;
  MemoryCalls& memory_;
  ProcessEnd& end_;
  ProcessListener& listener_;
};

} // namespace rdb::guest
