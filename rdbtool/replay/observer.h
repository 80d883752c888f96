// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What may look on while a recording is replayed: debug regions, event callbacks, tools. The replayer tells
// it what happens; nothing it does may change the guest.
#pragma once

#include "rdbtool/base/types.h"
#include "rdbtool/trace/input.h"

#include <csignal>

namespace rdb::replay {

class Replayer;

class Observer {
public:
  virtual ~Observer() = default;
  // A mapping was made.
  virtual void mapped(Replayer&, const trace::MapInput&) {}
  // The guest is about to execute the instruction at a stop address.
  virtual void before(Replayer&, GuestAddr /*pc*/) {}
  // It has executed the instruction at `pc` for which before() asked to be told, and is now elsewhere.
  virtual bool wants_after(GuestAddr /*pc*/) { return false; }
  virtual void after(Replayer&, GuestAddr /*pc*/) {}
  // A fault in host code. True: it was dealt with.
  virtual bool host_fault(Replayer&, int /*signal*/, siginfo_t*, void* /*context*/) { return false; }
  virtual void ended(Replayer&) {}
};

} // namespace rdb::replay
