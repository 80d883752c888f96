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

  // The process keeps its pages while it waits for this one; `yields`: as long as nobody waits in a circle.
  void begin_wait(uint32_t process, uint32_t page, bool yields);
  void end_wait(uint32_t process);
  bool yields(uint32_t process);
  // The processes, this one first, each of which keeps what the one before waits for and waits for what the
  // next one keeps, and the last for this one's: none will ever go on, unless one yields. Empty if it is not
  // so.
  using IsAlive = std::function<bool(uint32_t process)>;
  std::vector<uint32_t> circle(uint32_t process, uint32_t page, const IsAlive& is_alive);

private:
  // A process that has waited. Zero is nobody, and no page: those are counted from one, and have a bit for
  // those that yield.
  struct Waiter {
    std::atomic<uint32_t> process;
    std::atomic<uint32_t> page;
  };
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
  Page pages_[];
};

} // namespace rdb::record
