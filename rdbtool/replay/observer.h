// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What may look on while a recording is replayed: debug regions, event callbacks, tools. The replayer tells
// it what happens; nothing it does may change the guest.
#pragma once

#include "rdbtool/base/types.h"
#include "rdbtool/engine/engine.h"
#include "rdbtool/trace/format/input.h"

#include <csignal>

namespace rdb::replay {

class Replayer;

class Observer {
public:
  virtual ~Observer() = default;
  // A mapping was made.
  virtual void mapped(Replayer&, const trace::MapInput&) {}
  // The guest is about to execute the instruction at a hook (Translator::add_hook) that is not direct.
  virtual void hooked(Replayer&, GuestAddr /*pc*/) {}
  // After a hook that was called directly: Replayer::ask_to_settle() was called meanwhile.
  virtual void settle(Replayer&) {}
  // The guest has come to an input; the input is applied. For all of them: Replayer::tell_inputs().
  virtual void before_input(Replayer&, const trace::Input&) {}
  virtual void after_input(Replayer&, const trace::Input&) {}
  // The guest is about to touch a watched range (Engine::add_watch). The observer may execute that one
  // instruction.
  virtual void accessed(Replayer&, const engine::Access&) {}
  // The instruction at `pc` has written to a watched range, and the guest is behind it: only where the ranges
  // are watched by the CPU (Translator::set_watches).
  virtual void written(Replayer&, GuestAddr /*pc*/) {}
  // So has the host. Called in a signal handler.
  virtual void host_wrote(Replayer&, GuestAddr /*address*/) {}
  // The guest has come to the time that Replayer::wake_at() asked for: its state is that at this time.
  virtual void woken(Replayer&) {}
  // A fault in host code. True: it was dealt with.
  virtual bool host_fault(Replayer&, int /*signal*/, siginfo_t*, void* /*context*/) { return false; }
  // A signal that does not come from an instruction, such as a timer's.
  virtual void interrupted(Replayer&, int /*signal*/, void* /*context*/) {}
  virtual void ended(Replayer&) {}
};

} // namespace rdb::replay
