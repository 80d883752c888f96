// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a process ends. Any of its threads can end it, at an instruction or in a call, while the others wait
// for the baton or are in calls that block. So the one that ends it says so to the listener, then makes the
// others leave whatever they wait for (they throw ProcessOver out of it), and at last wakes the OS thread of
// main(), which has waited for this and goes on to end rdb as the guest ended.
#pragma once

#include "rdbtool/guest/process/machine.h"

#include <atomic>
#include <cstdint>
#include <exception>

namespace rdb::guest {

class FutexCalls;
class MemoryCalls;
class ProcessListener;
class Scheduler;

class ProcessEnd {
public:
  ProcessEnd(Machine& machine, Scheduler& scheduler, FutexCalls& futexes, MemoryCalls& memory,
             ProcessListener& listener)
      : machine_(machine), scheduler_(scheduler), futexes_(futexes), memory_(memory), listener_(listener) {}

  // Ends the process, by the thread that has the baton.
  void end(const Ending& ending);
  // In a catch block: what was thrown ends the process, and result() throws it again.
  void fail();

  bool is_over() const { return over_.load() != 0; }
  void wait_until_over();
  // How it ended; throws again what fail() has caught.
  const Ending& result() const;

  // In the child of a fork: the OS thread of main() may not be here. Then the one that calls end_orphan()
  // ends rdb in its place.
  void after_fork();
  void end_orphan();

private:
  Machine& machine_;
  Scheduler& scheduler_;
  FutexCalls& futexes_;
  MemoryCalls& memory_;
  ProcessListener& listener_;
  Ending ending_;
  std::exception_ptr failure_; // of rdb, in any of the OS threads
  bool orphan_ = false;
  std::atomic<uint32_t> over_ = 0;
};

} // namespace rdb::guest
