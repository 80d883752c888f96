// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who gets results from outside for a live process: it makes the system calls that rdb does not carry out by
// itself, and executes instructions such as rdtsc. LiveExecutor asks the kernel and the CPU and remembers
// nothing; the recorder does the same and logs what came out.
#pragma once

#include "rdbtool/engine/engine.h"
#include "rdbtool/guest/calls/computed_answer.h"
#include "rdbtool/guest/calls/system_call.h"

#include <cstdint>

namespace rdb::guest {

class Baton;
class Machine;
class SeccompFilters;

class SyscallExecutor {
public:
  virtual ~SyscallExecutor() = default;

  // Makes a call of class emulated (or refused) for the current thread, with the help of the baton, and puts
  // its outputs into guest memory. Returns the call's result; kNotStarted if a signal must be delivered
  // first.
  virtual int64_t execute(Machine& machine, const SystemCall& call, const CallShape& shape, Baton& baton) = 0;
  // Puts an answer into guest memory that rdb has computed for the call. Returns the call's result: -EFAULT
  // if that cannot be written.
  virtual int64_t deliver(Machine& machine, const SystemCall& call, const ComputedAnswer& answer) = 0;
  // Executes the instruction that the guest has come to. The caller gives the guest what is returned.
  virtual engine::Engine::InputResult execute_instruction(Machine& machine,
                                                          engine::InputInstruction kind) = 0;
  // The function that is offered the guest's calls first, see Engine::set_fast_syscall(). It must decline
  // all of them while there are filters.
  virtual engine::FastSyscall fast_path(Machine& machine, const SeccompFilters& filters) = 0;
};

} // namespace rdb::guest
