// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/futex_calls.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/calls/kernel_write.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/scheduler.h"
#include "rdbtool/guest/threads/turns.h"

#include <cerrno>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::guest {

FutexCalls::FutexCalls(Machine& machine, Scheduler& scheduler, Turns& turns, SignalInbox& inbox,
                       ProcessListener& listener)
    : machine_(machine), scheduler_(scheduler), turns_(turns), inbox_(inbox), listener_(listener),
      futexes_(*this) {}

bool FutexCalls::is_for_kernel(const SystemCall& call) {
  if (call.number != SYS_futex) return false;
  return !(call.arguments[1] & FUTEX_PRIVATE_FLAG) && is_shared(GuestAddr(call.arguments[0]));
}

int64_t FutexCalls::call(const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  Thread& self = machine_.current();
  bool of_many = call.number == SYS_futex_waitv;
  FutexOutcome outcome = of_many ? futexes_.futex_waitv(self, a) : futexes_.futex(self, a);
  if (!outcome.waits) return outcome.result;
  int command = static_cast<int>(a[1]) & FUTEX_CMD_MASK;
  bool locks = !of_many && (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2);
  return wait(outcome, locks);
}

int64_t FutexCalls::wait(const FutexOutcome& outcome, bool always_restarts) {
  Thread& self = machine_.current();
  Woken how = turns_.sleep(outcome.clock, outcome.deadline);
  if (self.woken) return self.wake_result;
  futexes_.cancel(self);
  if (how == Woken::timed_out) return -ETIMEDOUT;
  return always_restarts ? kNotStarted : inbox_.interrupted_result(!outcome.deadline);
}

void FutexCalls::end_thread(Thread& self) {
  futexes_.release_held(self);
  if (self.clear_child_tid.value == 0) return;
  write_word(self.clear_child_tid, 0);
  futexes_.wake(self.clear_child_tid, 1, FUTEX_BITSET_MATCH_ANY);
}

void FutexCalls::release_shared() {
  for (const auto& [id, thread] : machine_.threads())
    futexes_.release_shared(*thread);
}

bool FutexCalls::read_memory(GuestAddr from, void* to, size_t size) {
  return machine_.space().read(from, to, size) == size;
}

bool FutexCalls::write_word(GuestAddr to, uint32_t value) {
  return write_word_as_kernel(machine_, listener_, to, value);
}

// Which error there is depends on the kernel's version, so the kernel is asked.
int64_t FutexCalls::try_lock_of_stranger(ThreadId owner, int operation) {
  auto word = static_cast<uint32_t>(owner.value);
  return raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&word),
                     FUTEX_TRYLOCK_PI | (operation & FUTEX_PRIVATE_FLAG));
}

WordAccess FutexCalls::access_to(GuestAddr word) {
  uint32_t value;
  const Mapping* mapping = machine_.space().find(word.value);
  // Of a file that was cut off, the mapping goes on where there is no page any more.
  if (mapping == nullptr || !read_memory(word, &value, 4)) return WordAccess::none;
  if (mapping->protection & PROT_WRITE) return WordAccess::writable;
  return is_own(*mapping) ? WordAccess::none : WordAccess::read_only_file;
}

bool FutexCalls::has_thread(ThreadId id) {
  return machine_.find_thread(id) != nullptr;
}

bool FutexCalls::is_shared(GuestAddr word) {
  const Mapping* mapping = machine_.space().find(word.value);
  return mapping != nullptr && mapping->flags & MAP_SHARED;
}

void FutexCalls::wake_in_kernel(GuestAddr word) {
  raw_syscall(SYS_futex, static_cast<int64_t>(word.value), FUTEX_WAKE, 1);
}

void FutexCalls::wake(Thread& thread, int64_t result) {
  turns_.wake(thread, result);
}

size_t FutexCalls::choose_waiter(size_t count) {
  return scheduler_.choose(count);
}

} // namespace rdb::guest
