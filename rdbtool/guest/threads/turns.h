// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The turns of guest threads. The scheduler knows who holds the baton; here is what that means for the
// machine, which can hold the registers of one thread: the turn begins when the thread that got the baton is
// loaded, and ends when its registers have been saved and the baton is given away.
//
// A turn ends in one of these ways:
//
//   pass()        its length is over and others are ready
//   sleep()       the thread waits for a futex, a time, or a signal
//   try_later()   one OS thread for all: its call would block, the others run before it is tried again
//   give_away()   a call that may block is made in the kernel meanwhile, see Baton
//   rest()        the executor lets the thread wait until another one wakes it
//   end()         the thread is over
//
// pass(), sleep(), try_later() and rest() come back when the thread has its next turn; after give_away(), it
// has it when take_back() comes back. The listener hears of the end of a turn before the baton is given away,
// since another thread may run from then on. It does not hear of give_away() and rest(): these are for the
// executor of a system call, which knows.
//
// The length of a turn is drawn when it begins, in instructions. Where the schedule is chaotic, a turn that
// is over may last a little longer, instruction by instruction, in search of an access to shared memory: the
// order of two threads matters there, and nowhere else.
#pragma once

#include "rdbtool/guest/threads/scheduler.h"

#include <cstdint>
#include <ctime>
#include <optional>

namespace rdb::guest {

class Affinity;
class Machine;
class ProcessListener;
class SignalInbox;

class Turns {
public:
  Turns(Machine& machine, Scheduler& scheduler, SignalInbox& inbox, Affinity& affinity,
        ProcessListener& listener)
      : machine_(machine), scheduler_(scheduler), inbox_(inbox), affinity_(affinity), listener_(listener) {}

  // Waits for the baton; then the thread's turn begins. Throws ProcessOver, as does everything here that
  // waits for it.
  void take_back(Thread& self);

  void pass();
  Woken sleep(clockid_t clock, const std::optional<timespec>& deadline);
  void try_later();
  void give_away();
  Woken rest(clockid_t clock, const std::optional<timespec>& deadline);
  // The caller has told the listener, and removed the thread from the machine.
  void end() { scheduler_.release(); }

  // The thread's wait is over, with this result.
  void wake(Thread& thread, int64_t result);

  // How the turn stands. `searching`: it is over, but lasts one instruction more in search of a place where
  // the end of it matters.
  enum class State : uint8_t { lasts, searching, over };
  State state();
  // How many instructions are left of it while it lasts.
  uint64_t left() const;
  // Draws another length, from here on.
  void redraw();
  // It is over at the next look.
  void cut();
  // If it is over, it does not go on searching.
  void end_search();

private:
  void begin(Thread& self);
  bool searches_on();

  Machine& machine_;
  Scheduler& scheduler_;
  SignalInbox& inbox_;
  Affinity& affinity_;
  ProcessListener& listener_;
  uint64_t end_ = 0;         // in executed instructions
  uint64_t search_left_ = 0; // instructions that the turn may last longer
};

} // namespace rdb::guest
