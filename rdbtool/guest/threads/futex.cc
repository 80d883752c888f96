// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/futex.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/threads/robust_list.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <linux/futex.h>

namespace rdb::guest {
namespace {

constexpr uint32_t kWaitvMost = 128;

// As futex_waitv takes it.
struct WaitvEntry {
  uint64_t value;
  uint64_t address;
  uint32_t flags;
  uint32_t reserved;
};

bool is_possible(const WaitvEntry& entry) {
  bool of_32_bits = (entry.flags & ~static_cast<uint32_t>(FUTEX_PRIVATE_FLAG)) == FUTEX_32;
  return of_32_bits && entry.reserved == 0 && entry.value <= UINT32_MAX;
}

uint64_t at_most(uint64_t count) {
  // Counts are ints: callers say INT_MAX for all.
  auto n = static_cast<int32_t>(count);
  return n < 0 ? 0 : static_cast<uint64_t>(n);
}

FutexOutcome done(int64_t result) {
  return {.result = result};
}

bool valid(const timespec& time) {
  return time.tv_sec >= 0 && time.tv_nsec >= 0 && time.tv_nsec < 1'000'000'000;
}

timespec from_now(const timespec& relative) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  timespec result{now.tv_sec, now.tv_nsec + relative.tv_nsec};
  if (__builtin_add_overflow(result.tv_sec, relative.tv_sec, &result.tv_sec)) result.tv_sec = LONG_MAX - 1;
  if (result.tv_nsec >= 1'000'000'000) {
    result.tv_nsec -= 1'000'000'000;
    ++result.tv_sec;
  }
  return result;
}

bool can_time_out(int command) {
  return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
         command == FUTEX_LOCK_PI2 || command == FUTEX_WAIT_REQUEUE_PI;
}

} // namespace

size_t Futexes::waiting(GuestAddr address) const {
  auto queue = queues_.find(address);
  return queue == queues_.end() ? 0 : queue->second.size();
}

std::optional<Futexes::Waiter> Futexes::take(GuestAddr address, uint32_t bitset, bool inherits) {
  auto found = queues_.find(address);
  if (found == queues_.end()) return std::nullopt;
  Queue& queue = found->second;
  std::vector<size_t> fitting;
  for (size_t i = 0; i < queue.size(); ++i)
    if (queue[i].bitset & bitset && queue[i].inherits == inherits) fitting.push_back(i);
  if (fitting.empty()) return std::nullopt;
  size_t index = fitting[host_.choose_waiter(fitting.size())];
  Waiter waiter = queue[index];
  queue.erase(queue.begin() + static_cast<ptrdiff_t>(index));
  if (queue.empty()) queues_.erase(found);
  if (waiter.of_many) cancel(*waiter.thread);
  return waiter;
}

void Futexes::cancel(const Thread& thread) {
  for (auto queue = queues_.begin(); queue != queues_.end();) {
    std::erase_if(queue->second, [&](const Waiter& w) { return w.thread == &thread; });
    queue = queue->second.empty() ? queues_.erase(queue) : std::next(queue);
  }
}

FutexOutcome Futexes::wait(Thread& self, GuestAddr address, uint32_t value, const Waiter& waiter) {
  uint32_t found;
  if (!host_.read_memory(address, &found, 4)) return done(-EFAULT);
  if (found != value) return done(-EAGAIN);
  queues_[address].push_back(waiter);
  queues_[address].back().thread = &self;
  return {.waits = true};
}

int64_t Futexes::wake(GuestAddr address, uint64_t count, uint32_t bitset) {
  int64_t woken = 0;
  for (; static_cast<uint64_t>(woken) < count; ++woken) {
    std::optional<Waiter> waiter = take(address, bitset, false);
    if (!waiter) break;
    host_.wake(*waiter->thread, waiter->index);
  }
  return woken;
}

int64_t Futexes::requeue(GuestAddr from, GuestAddr to, uint64_t wakes, uint64_t moves) {
  int64_t woken = wake(from, wakes, FUTEX_BITSET_MATCH_ANY);
  int64_t moved = 0;
  if (from == to) return woken + static_cast<int64_t>(std::min<uint64_t>(moves, waiting(from)));
  for (; static_cast<uint64_t>(moved) < moves; ++moved) {
    std::optional<Waiter> waiter = take(from, FUTEX_BITSET_MATCH_ANY, false);
    if (!waiter) break;
    queues_[to].push_back(*waiter);
  }
  return woken + moved;
}

int64_t Futexes::wake_op(const SyscallArgs& args) {
  GuestAddr first(args[0]);
  GuestAddr second(args[4]);
  auto code = static_cast<uint32_t>(args[5]);
  uint32_t operation = code >> 28 & 7;
  uint32_t comparison = code >> 24 & 15;
  auto operand = static_cast<uint32_t>(static_cast<int32_t>(code << 8) >> 20);
  auto compared = static_cast<int32_t>(code << 20) >> 20;
  if (code & 1u << 31) operand = 1u << (operand & 31);
  uint32_t old;
  if (!host_.read_memory(second, &old, 4)) return -EFAULT;
  uint32_t fresh;
  switch (operation) {
  case FUTEX_OP_SET:
    fresh = operand;
    break;
  case FUTEX_OP_ADD:
    fresh = old + operand;
    break;
  case FUTEX_OP_OR:
    fresh = old | operand;
    break;
  case FUTEX_OP_ANDN:
    fresh = old & ~operand;
    break;
  case FUTEX_OP_XOR:
    fresh = old ^ operand;
    break;
  default:
    return -ENOSYS;
  }
  if (!host_.write_word(second, fresh)) return -EFAULT;
  auto signed_old = static_cast<int32_t>(old);
  bool holds;
  switch (comparison) {
  case FUTEX_OP_CMP_EQ:
    holds = signed_old == compared;
    break;
  case FUTEX_OP_CMP_NE:
    holds = signed_old != compared;
    break;
  case FUTEX_OP_CMP_LT:
    holds = signed_old < compared;
    break;
  case FUTEX_OP_CMP_GE:
    holds = signed_old >= compared;
    break;
  case FUTEX_OP_CMP_LE:
    holds = signed_old <= compared;
    break;
  case FUTEX_OP_CMP_GT:
    holds = signed_old > compared;
    break;
  default:
    return -ENOSYS;
  }
  int64_t woken = wake(first, at_most(args[2]), FUTEX_BITSET_MATCH_ANY);
  if (holds) woken += wake(second, at_most(args[3]), FUTEX_BITSET_MATCH_ANY);
  return woken;
}

FutexOutcome Futexes::lock(Thread& self, GuestAddr address, int operation, bool may_wait) {
  uint32_t word;
  if (!host_.read_memory(address, &word, 4)) return done(-EFAULT);
  ThreadId owner(static_cast<int32_t>(word & FUTEX_TID_MASK));
  if (owner == self.id) return done(-EDEADLK);
  if (owner.value == 0) {
    uint32_t fresh = static_cast<uint32_t>(self.id.value) | (word & FUTEX_OWNER_DIED);
    if (waiting(address) != 0) fresh |= FUTEX_WAITERS;
    return done(host_.write_word(address, fresh) ? 0 : -EFAULT);
  }
  // The kernel marks the word before it looks for the owner, also if it is only tried.
  if (!host_.write_word(address, word | FUTEX_WAITERS)) return done(-EFAULT);
  if (!host_.has_thread(owner)) {
    int64_t result = host_.try_lock_of_stranger(owner, operation);
    // The kernel would let the thread wait until the other one has ended.
    if (may_wait && result == -EAGAIN)
      limit(
          "a wait for a lock in private memory that belongs to thread {} of another process (futex at {:#x})",
          owner.value, address.value);
    return done(result);
  }
  if (!may_wait) return done(-EAGAIN);
  queues_[address].push_back({.thread = &self, .bitset = FUTEX_BITSET_MATCH_ANY, .inherits = true});
  return {.waits = true};
}

bool Futexes::pass_on(GuestAddr address, bool died) {
  std::optional<Waiter> next = take(address, FUTEX_BITSET_MATCH_ANY, true);
  if (!next) return false;
  auto word = static_cast<uint32_t>(next->thread->id.value);
  if (waiting(address) != 0) word |= FUTEX_WAITERS;
  if (died) word |= FUTEX_OWNER_DIED;
  host_.write_word(address, word);
  host_.wake(*next->thread, 0);
  return true;
}

int64_t Futexes::unlock(Thread& self, GuestAddr address, int operation) {
  uint32_t word;
  if (!host_.read_memory(address, &word, 4)) return -EFAULT;
  if ((word & FUTEX_TID_MASK) != static_cast<uint32_t>(self.id.value)) return -EPERM;
  if (int64_t error = check_word(address, operation, WordUse::write)) return error;
  if (pass_on(address, false)) return 0;
  return host_.write_word(address, 0) ? 0 : -EFAULT;
}

int64_t Futexes::requeue_locks(GuestAddr from, GuestAddr to, uint64_t moves) {
  int64_t count = 0;
  for (; static_cast<uint64_t>(count) <= moves; ++count) {
    std::optional<Waiter> waiter = take(from, FUTEX_BITSET_MATCH_ANY, false);
    if (!waiter) break;
    uint32_t word;
    if (!host_.read_memory(to, &word, 4)) return -EFAULT;
    if ((word & FUTEX_TID_MASK) == 0) {
      host_.write_word(to, static_cast<uint32_t>(waiter->thread->id.value) | (word & FUTEX_OWNER_DIED));
      host_.wake(*waiter->thread, 0);
    } else {
      host_.write_word(to, word | FUTEX_WAITERS);
      queues_[to].push_back({.thread = waiter->thread, .bitset = FUTEX_BITSET_MATCH_ANY, .inherits = true});
    }
  }
  return count;
}

FutexOutcome Futexes::futex(Thread& self, const SyscallArgs& args) {
  auto operation = static_cast<int>(args[1]);
  int command = operation & FUTEX_CMD_MASK;
  timespec timeout{};
  bool has_timeout = can_time_out(command) && args[3] != 0;
  if (has_timeout) {
    if (!host_.read_memory(GuestAddr(args[3]), &timeout, sizeof timeout)) return done(-EFAULT);
    if (!valid(timeout)) return done(-EINVAL);
  }
  if (int64_t error = check(args)) return done(error);
  FutexOutcome outcome = carry_out(self, args);
  if (has_timeout) {
    bool relative = command == FUTEX_WAIT;
    bool realtime = !relative && (operation & FUTEX_CLOCK_REALTIME || command == FUTEX_LOCK_PI);
    outcome.clock = realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    outcome.deadline = relative ? from_now(timeout) : timeout;
  }
  return outcome;
}

// Does what a call asks for whose arguments are checked, but for its timeout.
FutexOutcome Futexes::carry_out(Thread& self, const SyscallArgs& args) {
  auto operation = static_cast<int>(args[1]);
  GuestAddr address(args[0]);
  GuestAddr second(args[4]);
  auto value = static_cast<uint32_t>(args[2]);
  auto third = static_cast<uint32_t>(args[5]);
  switch (operation & FUTEX_CMD_MASK) {
  case FUTEX_WAIT:
    return wait(self, address, value, {.bitset = FUTEX_BITSET_MATCH_ANY});
  case FUTEX_WAIT_BITSET:
    return wait(self, address, value, {.bitset = third});
  case FUTEX_WAIT_REQUEUE_PI:
    return wait(self, address, value, {.bitset = FUTEX_BITSET_MATCH_ANY, .target = second});
  case FUTEX_LOCK_PI:
  case FUTEX_LOCK_PI2:
    return lock(self, address, operation, true);
  case FUTEX_TRYLOCK_PI:
    return lock(self, address, operation, false);
  case FUTEX_UNLOCK_PI:
    return done(unlock(self, address, operation));
  case FUTEX_WAKE:
    // The kernel wakes at least one.
    return done(wake(address, std::max<uint64_t>(at_most(args[2]), 1), FUTEX_BITSET_MATCH_ANY));
  case FUTEX_WAKE_BITSET:
    return done(wake(address, std::max<uint64_t>(at_most(args[2]), 1), third));
  case FUTEX_REQUEUE:
    return done(requeue(address, second, at_most(args[2]), at_most(args[3])));
  case FUTEX_CMP_REQUEUE:
  case FUTEX_CMP_REQUEUE_PI:
    return done(compare_and_requeue(args));
  case FUTEX_WAKE_OP:
    return done(wake_op(args));
  default:
    return done(-ENOSYS);
  }
}

// The waiters go to another word if the first one is still what the caller has seen there.
int64_t Futexes::compare_and_requeue(const SyscallArgs& args) {
  GuestAddr address(args[0]);
  GuestAddr second(args[4]);
  uint32_t found;
  if (!host_.read_memory(address, &found, 4)) return -EFAULT;
  if (found != static_cast<uint32_t>(args[5])) return -EAGAIN;
  if ((static_cast<int>(args[1]) & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE)
    return requeue(address, second, at_most(args[2]), at_most(args[3]));
  if (!host_.read_memory(second, &found, 4)) return -EFAULT;
  return requeue_locks(address, second, at_most(args[3]));
}

FutexOutcome Futexes::futex_waitv(Thread& self, const SyscallArgs& args) {
  auto count = static_cast<uint32_t>(args[1]);
  if (count == 0 || count > kWaitvMost || args[0] == 0 || args[2] != 0) return done(-EINVAL);
  FutexOutcome outcome;
  if (args[3] != 0) {
    outcome.clock = static_cast<clockid_t>(args[4]);
    if (outcome.clock != CLOCK_MONOTONIC && outcome.clock != CLOCK_REALTIME) return done(-EINVAL);
    timespec timeout;
    if (!host_.read_memory(GuestAddr(args[3]), &timeout, sizeof timeout)) return done(-EFAULT);
    if (!valid(timeout)) return done(-EINVAL);
    outcome.deadline = timeout;
  }
  std::vector<WaitvEntry> entries(count);
  if (!host_.read_memory(GuestAddr(args[0]), entries.data(), count * sizeof(WaitvEntry)))
    return done(-EFAULT);
  if (!std::ranges::all_of(entries, is_possible)) return done(-EINVAL);
  for (const WaitvEntry& entry : entries)
    if (!(entry.flags & FUTEX_PRIVATE_FLAG) && host_.is_shared(GuestAddr(entry.address)))
      limit("futex_waitv on memory that is mapped shared (at {:#x})", entry.address);
  for (const WaitvEntry& entry : entries)
    if (int64_t error = check_word(GuestAddr(entry.address), static_cast<int>(entry.flags), WordUse::read))
      return done(error);
  for (size_t i = 0; i < count; ++i) {
    FutexOutcome one =
        wait(self, GuestAddr(entries[i].address), static_cast<uint32_t>(entries[i].value),
             {.bitset = FUTEX_BITSET_MATCH_ANY, .index = static_cast<int64_t>(i), .of_many = true});
    if (one.waits) continue;
    cancel(self);
    return one;
  }
  outcome.waits = true;
  return outcome;
}

bool Futexes::robust_entry(const Thread& thread, GuestAddr address, bool inherits) {
  uint32_t word;
  if (address.value & 3 || !host_.read_memory(address, &word, 4)) return false;
  if ((word & FUTEX_TID_MASK) != static_cast<uint32_t>(thread.id.value)) return true;
  if (inherits && pass_on(address, true)) return true;
  if (!host_.write_word(address, (word & FUTEX_WAITERS) | FUTEX_OWNER_DIED)) return false;
  if (!inherits && word & FUTEX_WAITERS) wake(address, 1, FUTEX_BITSET_MATCH_ANY);
  // Another process may have begun to wait since the word was read.
  if (!inherits && host_.is_shared(address)) host_.wake_in_kernel(address);
  return true;
}

void Futexes::walk_robust_list(const Thread& thread, const EndOfLock& end) {
  guest::walk_robust_list(
      thread.robust_list,
      [&](GuestAddr from, void* to, size_t size) { return host_.read_memory(from, to, size); }, end);
}

void Futexes::release_shared(const Thread& thread) {
  walk_robust_list(thread, [&](GuestAddr word, bool inherits) {
    return !host_.is_shared(word) || robust_entry(thread, word, inherits);
  });
}

void Futexes::release_held(const Thread& thread) {
  walk_robust_list(thread,
                   [&](GuestAddr word, bool inherits) { return robust_entry(thread, word, inherits); });
  // Locks with inheritance know their owner without any list.
  std::vector<GuestAddr> held;
  for (const auto& [address, queue] : queues_) {
    uint32_t word;
    if (queue.front().inherits && host_.read_memory(address, &word, 4) &&
        (word & FUTEX_TID_MASK) == static_cast<uint32_t>(thread.id.value))
      held.push_back(address);
  }
  for (GuestAddr address : held)
    pass_on(address, true);
}

} // namespace rdb::guest
