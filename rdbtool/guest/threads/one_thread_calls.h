// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that may block, where all guest threads live in one OS thread (rdb run --one-thread). Made as they
// are, they would stop all threads. So a call that waits for a time becomes a wait of the scheduler's; one
// that waits for a file, a child or a signal is tried without blocking, and the other threads have their
// turns before it is tried again.
#pragma once

#include "rdbtool/guest/calls/system_call.h"

namespace rdb::guest {

class Machine;
class SignalInbox;
class Turns;

class OneThreadCalls {
public:
  OneThreadCalls(Machine& machine, Turns& turns, SignalInbox& inbox)
      : machine_(machine), turns_(turns), inbox_(inbox) {}

  // As Baton::call_kernel(), of a shape that may block. It has more than one turn.
  int64_t call(const CallShape& shape, const SyscallArgs& arguments);

private:
  int64_t sleep(int64_t number, const SyscallArgs& arguments);
  int64_t wait_with_timeout(int64_t number, const SyscallArgs& arguments);
  int64_t wait_for_child(int64_t number, const SyscallArgs& arguments);
  int64_t wait_for_file(short event, const CallShape& shape, const SyscallArgs& arguments);

  Machine& machine_;
  Turns& turns_;
  SignalInbox& inbox_;
};

} // namespace rdb::guest
