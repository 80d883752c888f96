// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Futexes of one process, emulated: who waits where, and what each operation does to the words in guest
// memory. Only the thread whose turn it is calls this, so the outcome follows from the order of turns alone.
#pragma once

#include "rdbtool/guest/threads/thread.h"
#include "rdbtool/syscalls/table.h"

#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <optional>

namespace rdb::guest {

// What a process may do with a word: none also for one that it can only read and that is not a file's, since
// nobody could ever change it.
enum class WordAccess : uint8_t { none, read_only_file, writable };

// What futexes need from their process.
class FutexHost {
public:
  virtual ~FutexHost() = default;
  virtual bool read_memory(GuestAddr from, void* to, size_t size) = 0;
  virtual bool write_word(GuestAddr to, uint32_t value) = 0;
  virtual WordAccess access_to(GuestAddr word) = 0;
  virtual bool has_thread(ThreadId id) = 0;
  // What FUTEX_TRYLOCK_PI gives for a lock of a thread that is none of these; of `operation` the flags count.
  virtual int64_t try_lock_of_stranger(ThreadId owner, int operation) = 0;
  // The thread's wait is over.
  virtual void wake(Thread& thread, int64_t result) = 0;
  // Whether other processes may see the word, and wait for it in the kernel.
  virtual bool is_shared(GuestAddr /*word*/) { return false; }
  virtual void wake_in_kernel(GuestAddr /*word*/) {}
  // Which of several waiters comes first; 0 is the one that waits longest.
  virtual size_t choose_waiter(size_t /*count*/) { return 0; }
};

struct FutexOutcome {
  bool waits = false; // until FutexHost::wake(), the deadline, or a signal
  int64_t result = 0;
  std::optional<timespec> deadline; // absolute
  clockid_t clock = CLOCK_MONOTONIC;
};

class Futexes {
public:
  explicit Futexes(FutexHost& host) : host_(host) {}

  FutexOutcome futex(Thread& self, const SyscallArgs& args);
  FutexOutcome futex_waitv(Thread& self, const SyscallArgs& args);
  // The thread waits no longer: its deadline has passed, or a signal came.
  void cancel(const Thread& thread);
  int64_t wake(GuestAddr address, uint64_t count, uint32_t bitset);
  // Marks the locks that a thread holds at its end, and passes them on.
  void release_held(const Thread& thread);
  // When the process ends: those of its robust list that other processes see.
  void release_shared(const Thread& thread);
  // In the child of a fork, nobody waits.
  void clear() { queues_.clear(); }

private:
  struct Waiter {
    Thread* thread = nullptr;
    uint32_t bitset = 0;
    int64_t index = 0;     // in futex_waitv, what the call returns
    bool of_many = false;  // the thread waits in other places too
    bool inherits = false; // waits for a lock that is passed to it (PI)
    GuestAddr target;      // wait_requeue_pi: the lock that it is to get
  };
  using Queue = std::deque<Waiter>;
  enum class WordUse : uint8_t { read, write };

  // The error with which the kernel refuses the operation whatever its words hold; 0 if it does not.
  int64_t check(const SyscallArgs& args);
  int64_t check_word(GuestAddr word, int operation, WordUse use);
  FutexOutcome carry_out(Thread& self, const SyscallArgs& args);
  FutexOutcome wait(Thread& self, GuestAddr address, uint32_t value, const Waiter& waiter);
  FutexOutcome lock(Thread& self, GuestAddr address, int operation, bool may_wait);
  int64_t unlock(Thread& self, GuestAddr address, int operation);
  int64_t requeue(GuestAddr from, GuestAddr to, uint64_t wakes, uint64_t moves);
  int64_t compare_and_requeue(const SyscallArgs& args);
  int64_t requeue_locks(GuestAddr from, GuestAddr to, uint64_t moves);
  int64_t wake_op(const SyscallArgs& args);
  // Gives the lock at `address` to the next waiter; `died`: its owner has ended. False if nobody waits.
  bool pass_on(GuestAddr address, bool died);
  using EndOfLock = std::function<bool(GuestAddr word, bool inherits)>; // false ends the walk
  void walk_robust_list(const Thread& thread, const EndOfLock& end);
  bool robust_entry(const Thread& thread, GuestAddr address, bool inherits);
  std::optional<Waiter> take(GuestAddr address, uint32_t bitset, bool inherits);
  size_t waiting(GuestAddr address) const;

  FutexHost& host_;
  std::map<GuestAddr, Queue> queues_;
};

} // namespace rdb::guest
