// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/shared_memory/page_owners.h"

#include <algorithm>
#include <sys/mman.h>
#include <sys/random.h>

namespace rdb::record {

PageTable* PageTable::make() {
  // Of these the kernel gives what is used.
  void* memory = mmap(nullptr, sizeof(PageTable) + kPages * sizeof(Page), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* table = static_cast<PageTable*>(memory); // zeros are an empty one
  if (getrandom(&table->id_, sizeof table->id_, 0) != sizeof table->id_) table->id_ = 1;
  return table;
}

std::optional<uint32_t> PageTable::add(size_t pages) {
  uint32_t first = used_;
  do
    if (pages > kPages - first) return std::nullopt;
  while (!used_.compare_exchange_weak(first, first + static_cast<uint32_t>(pages)));
  return first;
}

void PageTable::set_locks(uint32_t process, const std::vector<Lock>& locks) {
  std::vector<Lock> missing = locks;
  std::vector<LockEntry*> gone;
  for (uint32_t i = 0; i < used_locks_; ++i) {
    LockEntry& entry = locks_[i];
    if (entry.process != process) continue;
    if (std::erase(missing, entry.lock) == 0) gone.push_back(&entry);
  }
  for (const Lock& lock : missing) {
    // One that finds no room is not marked: that many at once are not to be expected.
    for (uint32_t i = 0; i < kLocks; ++i) {
      uint32_t nobody = 0;
      if (!locks_[i].process.compare_exchange_strong(nobody, kBeingMade)) continue;
      locks_[i].lock = lock;
      locks_[i].process = process;
      for (uint32_t used = used_locks_; used <= i && !used_locks_.compare_exchange_weak(used, i + 1);) {
      }
      break;
    }
  }
  for (LockEntry* entry : gone)
    entry->process = 0;
}

void PageTable::each_lock(uint32_t page, const OfPage& each) {
  for (uint32_t i = 0; i < used_locks_; ++i) {
    uint32_t process = locks_[i].process;
    if (process == 0 || process == kBeingMade) continue;
    Lock lock = locks_[i].lock;
    if (lock.page == page && each(process, lock)) locks_[i].process.compare_exchange_strong(process, 0);
  }
}

PageTable::Waiter* PageTable::waiter(uint32_t process) {
  for (Waiter& waiter : waiters_) {
    uint32_t who = waiter.process;
    if (who == process || (who == 0 && waiter.process.compare_exchange_strong(who, process))) return &waiter;
  }
  return nullptr; // its waits are not seen: that many at once are not to be expected
}

uint32_t PageTable::what_awaits(uint32_t process) {
  for (Waiter& waiter : waiters_) {
    if (waiter.process == process) return waiter.page;
    if (waiter.process == 0) break;
  }
  return 0;
}

void PageTable::begin_wait(uint32_t process, uint32_t page, bool yields) {
  if (Waiter* found = waiter(process)) found->page = (page + 1) | (yields ? kYields : 0);
}

bool PageTable::yields(uint32_t process) {
  return what_awaits(process) & kYields;
}

void PageTable::end_wait(uint32_t process) {
  if (awaited(process) != 0) waiter(process)->page = 0;
}

std::vector<uint32_t> PageTable::find_deadlock(uint32_t process, uint32_t page, const IsAlive& is_alive) {
  std::vector<uint32_t> processes{process};
  std::vector<uint32_t> pages{page + 1};
  for (;;) {
    uint32_t owner = pages_[pages.back() - 1].owner;
    if (owner == process && processes.size() == 1) return {}; // it has just been given to this one
    if (owner == process) break;
    bool seen = std::find(processes.begin(), processes.end(), owner) != processes.end();
    uint32_t next = owner == 0 || seen ? 0 : awaited(owner);
    if (next == 0) return {};
    processes.push_back(owner);
    pages.push_back(next);
  }
  // The walk was not atomic, so each link is checked again, backwards. The last process waits for this one,
  // which does not move now; so the last one does not move either, nor the one before it, and so on. A circle
  // that is still there is real.
  for (size_t i = processes.size(); i-- > 1;)
    if (awaited(processes[i]) != pages[i] || pages_[pages[i - 1] - 1].owner != processes[i] ||
        !is_alive(processes[i]))
      return {};
  return processes;
}

} // namespace rdb::record
