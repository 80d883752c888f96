// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who has which page of the memory that recorded processes share, and who waits for which. It lies in memory
// that a process hands down to all that it forks, so all that can wait for each other see the same table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace rdb::record {

class PageTable {
public:
  struct Page {
    std::atomic<uint32_t> owner = 0; // a process, or 0
    std::atomic<uint32_t> version = 0;
    std::atomic<uint32_t> wanted = 0; // by this process; 0: by nobody
    std::atomic<uint32_t> users = 0;  // processes that have the area which begins here
  };

  // Null if there is no memory for it.
  static PageTable* make();

  uint64_t id() const { return id_; } // another one for every table
  // The number of the first of so many new pages, if they have room.
  std::optional<uint32_t> add(size_t pages);
  Page& page(uint32_t number) { return pages_[number]; }

  // Robust locks in these pages that threads have, as their processes said when they let go of a page: what
  // they had when a signal ended them that nobody sees come (SIGKILL).
  struct Lock {
    uint32_t thread = 0;
    uint32_t page = 0;
    uint32_t offset = 0; // of its word in the page
    bool operator==(const Lock&) const = default;
  };
  // All that a process has now.
  void set_locks(uint32_t process, const std::vector<Lock>& locks);
  // Calls `each` with the process and the lock; the lock is forgotten if it returns true.
  using OfPage = std::function<bool(uint32_t process, const Lock& lock)>;
  void each_lock(uint32_t page, const OfPage& each);

  // The process keeps its pages while it waits for this one; `yields`: it gives them back if that is a
  // deadlock.
  void begin_wait(uint32_t process, uint32_t page, bool yields);
  void end_wait(uint32_t process);
  bool yields(uint32_t process);
  // The deadlock that `process` is part of while it waits for `page`: each of these processes owns the page
  // that the one before it waits for, and this one the page that the last waits for. Empty if there is none.
  using IsAlive = std::function<bool(uint32_t process)>;
  std::vector<uint32_t> find_deadlock(uint32_t process, uint32_t page, const IsAlive& is_alive);

private:
  // A process that has waited. Zero is nobody, and no page: those are counted from one, and have a bit for
  // those that yield.
  struct Waiter {
    std::atomic<uint32_t> process;
    std::atomic<uint32_t> page;
  };
  // Nobody's if `process` is 0; kBeingMade while the rest is not there yet.
  struct LockEntry {
    std::atomic<uint32_t> process;
    Lock lock;
  };
  static constexpr uint32_t kBeingMade = ~0u;
  static constexpr size_t kLocks = 4096;
  static constexpr size_t kWaiters = 1024;
  static constexpr size_t kPages = size_t{1} << 22;
  static constexpr uint32_t kYields = 1u << 31;

  PageTable() = default;
  Waiter* waiter(uint32_t process);
  uint32_t what_awaits(uint32_t process);
  uint32_t awaited(uint32_t process) { return what_awaits(process) & ~kYields; }

  uint64_t id_ = 0;
  std::atomic<uint32_t> used_ = 0; // pages
  Waiter waiters_[kWaiters] = {};
  std::atomic<uint32_t> used_locks_ = 0; // entries that were ever used
  LockEntry locks_[kLocks] = {};
  Page pages_[];
};

} // namespace rdb::record
