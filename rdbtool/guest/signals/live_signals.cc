// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/signals/live_signals.h"

#include "rdbtool/guest/memory/memory_calls.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_end.h"
#include "rdbtool/guest/process/process_listener.h"

#include <csignal>

namespace rdb::guest {

ThreadOutcome LiveSignals::deliver(const PendingSignal& signal) {
  listener_.on_signal(machine_, signal);
  bool handled = machine_.action(signal.number).handler > reinterpret_cast<uint64_t>(SIG_IGN);
  GuestAddr stack(page_down(machine_.registers().gpr[engine::RSP]));
  if (machine_.deliver(signal) != Machine::Delivery::fatal) return ThreadOutcome::goes_on;
  // The frame may have had no room.
  if (handled && machine_.fatal_signal() == SIGSEGV) memory_.refuse_growth(stack - 1, "a signal frame");
  end_.end({Ending::Kind::signalled, machine_.fatal_signal()});
  return ThreadOutcome::process_ended;
}

} // namespace rdb::guest
