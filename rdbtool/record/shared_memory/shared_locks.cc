// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Robust locks in memory that recorded processes share. The kernel marks them when SIGKILL ends the process
// that has them, as far as it can reach them: not in pages which that process has let go of, for they are
// protected. Those locks cannot change until the process has the page again, so they are known when it lets
// go; and whoever takes the page next, or waits for a lock in it, marks them in place of the kernel.
#include "rdbtool/base/own_memory.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/threads/robust_list.h"
#include "rdbtool/record/shared_memory/process_liveness.h"
#include "rdbtool/record/shared_memory/shared_pages.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::record {

using guest::kPage;

// Guest memory as it is, without taking a page for it.
bool SharedPages::peek(GuestAddr from, void* to, size_t size) {
  std::optional<uint64_t> shared = always_there(from.value);
  if (!shared) return machine_->space().read(from, to, size) == size;
  return read_own_memory(reinterpret_cast<const void*>(*shared), to, size) == size;
}

void SharedPages::tell_locks() {
  if (machine_ == nullptr) return;
  std::vector<PageTable::Lock> locks;
  for (const auto& [id, thread] : machine_->threads()) {
    auto number = static_cast<uint32_t>(id.value);
    guest::walk_robust_list(
        thread->robust_list, [&](GuestAddr from, void* to, size_t size) { return peek(from, to, size); },
        [&](GuestAddr word, bool inherits) {
          const Area* area = find(word.value);
          uint32_t value;
          if (area == nullptr || !area->writable || inherits || word.value % 4 != 0 || !peek(word, &value, 4))
            return true;
          if ((value & FUTEX_TID_MASK) != number) return true;
          locks.push_back({number, area->first + static_cast<uint32_t>(area->page(word.value)),
                           static_cast<uint32_t>(word.value % kPage)});
          return true;
        });
  }
  if (locks.empty() && !has_locks_) return;
  table_->set_locks(static_cast<uint32_t>(machine_->identity().pid), locks);
  has_locks_ = !locks.empty();
}

// In a page that this process owns. True if there was one.
bool SharedPages::mark_locks(guest::Machine& machine, Area& area, size_t page) {
  auto self = static_cast<uint32_t>(machine.identity().pid);
  bool any = false;
  table_->each_lock(area.first + static_cast<uint32_t>(page),
                    [&](uint32_t holder, const PageTable::Lock& lock) {
                      if (holder == self || is_alive_for_good(holder)) return false;
                      auto* word = reinterpret_cast<uint32_t*>(area.copy + page * kPage + lock.offset);
                      uint32_t value;
                      // Where the file was cut off there is no lock any more.
                      if (read_own_memory(word, &value, sizeof value) != sizeof value) return true;
                      if ((value & FUTEX_TID_MASK) != lock.thread) return true;
                      uint32_t marked = (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
                      if (write_own_memory(word, &marked, sizeof marked) != sizeof marked) return true;
                      ++state(area, page).version;
                      any = true;
                      if (value & FUTEX_WAITERS)
                        raw_syscall(SYS_futex, reinterpret_cast<int64_t>(word), FUTEX_WAKE, 1);
                      return true;
                    });
  return any;
}

void SharedPages::mark_locks_of_dead(guest::Machine& machine) {
  for (const Held& held : held_) {
    Area& area = areas_[held.area];
    if (mark_locks(machine, area, held.page)) log_change(machine, area, held.page);
  }
}

bool SharedPages::is_lock(GuestAddr word) const {
  const Area* area = find(word.value);
  if (area == nullptr) return false;
  bool found = false;
  uint32_t page = area->first + static_cast<uint32_t>(area->page(word.value));
  table_->each_lock(page, [&](uint32_t, const PageTable::Lock& lock) {
    found |= lock.offset == word.value % kPage;
    return false;
  });
  return found;
}

void SharedPages::mark_lock_of_dead(guest::Machine& machine, GuestAddr word) {
  const Area* area = find(word.value);
  if (area == nullptr) return;
  bool dead = false;
  uint32_t page = area->first + static_cast<uint32_t>(area->page(word.value));
  table_->each_lock(page, [&](uint32_t holder, const PageTable::Lock& lock) {
    dead |= lock.offset == word.value % kPage && !is_alive_for_good(holder);
    return false;
  });
  // The page is owned for it, and marked then.
  if (dead && !take(machine, word, false)) mark_locks_of_dead(machine);
}

} // namespace rdb::record
