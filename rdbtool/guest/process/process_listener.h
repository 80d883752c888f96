// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who wants to know what happens in a live process: the recorder, which puts it into the log. A listener does
// none of it, and decides two things only: how long the guest may run (on_run), and whether memory that the
// guest could not reach is there now (on_unreachable_memory). Each function is called by the thread that has
// the baton. If it is about a thread, that is the machine's current one.
//
// A listener overrides what it wants to hear of. One that overrides nothing is the listener of a plain run.
#pragma once

#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/process/machine.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace rdb::guest {

struct Handover;

class ProcessListener {
public:
  virtual ~ProcessListener() = default;

  // The program is loaded, nothing is executed yet.
  virtual void on_start(Machine&) {}
  // The process ends in this way, and runs no more.
  virtual void on_end(Machine&, const Ending&) {}
  // rdb cannot go on with it; `why` is what the user reads.
  virtual void on_failure(const std::string& /*why*/) {}

  // The guest is about to run. Returns how many instructions it may execute at most before this is asked
  // again.
  virtual uint64_t on_run(Machine&) { return UINT64_MAX; }
  // The turn of the current thread ends: others run when this returns. Not for turns that the executor of a
  // system call ends, since it gives the baton away by itself.
  virtual void on_turn_end(Machine&) {}

  // The guest has made a call; nothing of it is done yet.
  virtual void on_syscall_entry(Machine&) {}
  // rdb is about to carry out a call that changes memory.
  virtual void on_memory_call(Machine&, const SystemCall&) {}
  // A call that rdb has carried out without the executor is over. kNotStarted: a signal comes first, and the
  // guest makes the call again.
  virtual void on_syscall_exit(Machine&, const SystemCall&, int64_t /*result*/) {}

  // A file was mapped (`fd` as the guest gave it, -1 for a segment); comes before on_syscall_exit().
  virtual void on_mapping(Machine&, const Mapping&, int /*fd*/) {}
  // rdb has made this call, which changes mappings and which the guest has not made here.
  virtual void on_remapping(Machine&, const SystemCall&, int64_t /*result*/) {}
  // rdb has written to guest memory as the kernel would (a lock that changes hands, a thread's id).
  virtual void on_memory_write(Machine&, GuestAddr, const void* /*bytes*/, size_t /*size*/) {}
  // An instruction could not reach memory that the guest has. Returns true if it can now.
  virtual bool on_unreachable_memory(Machine&, const engine::Fault&) { return false; }

  // A signal is about to be delivered to the current thread.
  virtual void on_signal(Machine&, const PendingSignal&) {}

  // The current thread has made another one; comes before on_syscall_exit().
  virtual void on_thread_start(Machine&, const Thread& /*created*/, uint64_t /*clone_flags*/) {}
  // The current thread ends, but not the process.
  virtual void on_thread_end(Machine&, int /*status*/) {}

  // Around a fork, the latter in both processes; the executor delivers the call's result.
  virtual void before_fork(Machine&) {}
  virtual void after_fork(Machine&, int64_t /*result*/) {}
  // The process is about to become another program, which `handover` describes. If it could not after all,
  // on_exec_failure() follows.
  virtual void before_exec(Machine&, const SystemCall&, Handover& /*handover*/) {}
  virtual void on_exec_failure(Machine&, int64_t /*result*/) {}
};

} // namespace rdb::guest
