// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/shared_memory/shared_pages.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/own_memory.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/memory/file_holes.h"
#include "rdbtool/record/shared_memory/process_liveness.h"
#include "rdbtool/syscalls/call_properties.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::record {
namespace {

using guest::kPage;

void protect(uint64_t begin, uint64_t size, int protection) {
  raw_syscall(SYS_mprotect, static_cast<int64_t>(begin), static_cast<int64_t>(size), protection);
}

// Until someone wakes it, or its owner may have died: the longer it waits, the more seldom it looks.
void wait_while(std::atomic<uint32_t>& word, uint32_t value, int before) {
  timespec most{0, 2'000'000L << std::min(before, 6)};
  raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&word), FUTEX_WAIT, value,
              reinterpret_cast<int64_t>(&most));
}

} // namespace

SharedPages::~SharedPages() {
  for (Area& area : areas_)
    if (area.copy != nullptr) munmap(area.copy, area.end - area.begin);
}

const SharedPages::Area* SharedPages::find(uint64_t address) const {
  for (const Area& area : areas_)
    if (area.has(address) && area.holds[(address - area.begin) / kPage] != Hold::gone) return &area;
  return nullptr;
}

void SharedPages::add(const guest::Mapping& mapping) {
  Area area;
  area.begin = mapping.begin;
  area.end = mapping.end;
  if (!(mapping.flags & MAP_ANONYMOUS)) {
    area.device = mapping.device;
    area.inode = mapping.inode;
    area.offset = mapping.offset;
  }
  size_t pages = (mapping.end - mapping.begin) / kPage;
  if (table_ == nullptr) table_ = PageTable::make();
  std::optional<uint32_t> first = table_ == nullptr ? std::nullopt : table_->add(pages);
  // A length of 0 makes a second mapping of the same memory.
  void* copy = mremap(reinterpret_cast<void*>(mapping.begin), 0, mapping.end - mapping.begin, MREMAP_MAYMOVE);
  bool has_room = first && copy != MAP_FAILED;
  if (!has_room && !(mapping.protection & PROT_WRITE) && area.inode != 0) {
    // It is only read, and most probably nobody changes the file.
    if (copy != MAP_FAILED) munmap(copy, mapping.end - mapping.begin);
    return;
  }
  if (!has_room)
    refuse_(fmt::format("memory shared by recorded processes: {} at {:#x}: {}",
                        mapping.name.empty() ? "the mapping" : mapping.name, mapping.begin,
                        std::strerror(errno)));
  area.first = *first;
  state(area, 0).users = 1;
  area.copy = static_cast<char*>(copy);
  area.writable = mprotect(copy, mapping.end - mapping.begin, PROT_READ | PROT_WRITE) == 0;
  if (!area.writable) mprotect(copy, mapping.end - mapping.begin, PROT_READ);
  area.known.resize(pages);
  area.holds.resize(pages);
  areas_.push_back(std::move(area));
}

void SharedPages::before_fork(guest::Machine& machine) {
  machine_ = &machine;
  give_back();
  size_t old = areas_.size();
  for (const auto& [begin, mapping] : machine.space().mappings()) {
    if (!(mapping.flags & MAP_SHARED) || find(begin) != nullptr) continue;
    // A file that is open for writing can be changed by calls, in both processes.
    bool writable = mapping.protection & PROT_WRITE || mapping.flags & MAP_ANONYMOUS || mapping.may_write ||
                    guest::is_open_for_writing(mapping.device, mapping.inode);
    if (writable) add(mapping);
  }
  for (size_t i = old; i < areas_.size(); ++i) {
    auto same_file = [&](const Area& other) {
      return other.inode == areas_[i].inode && other.device == areas_[i].device;
    };
    areas_[i].family =
        std::ranges::find_if(areas_.begin() + static_cast<ptrdiff_t>(old), areas_.end(), same_file)->first;
  }
  for (Area& area : areas_)
    ++state(area, 0).users;
}

void SharedPages::after_fork(const guest::Machine& machine, int64_t result) {
  for (Area& area : areas_) {
    if (result < 0) --state(area, 0).users;
    // Some memory is not handed down (MADV_DONTFORK).
    for (size_t page = 0; result == 0 && page < area.holds.size(); ++page)
      if (machine.space().find(area.address(page)) == nullptr) area.holds[page] = Hold::gone;
    withhold(area);
  }
}

void SharedPages::withhold(const Area& area) {
  for (size_t i = 0; i < area.holds.size();) {
    size_t end = i;
    while (end < area.holds.size() && area.holds[end] != Hold::gone)
      ++end;
    if (end > i) protect(area.address(i), (end - i) * kPage, PROT_NONE);
    i = end + 1;
  }
}

bool SharedPages::may_take(const guest::Machine& machine, GuestAddr address, bool write) const {
  if (find(address.value) == nullptr) return false;
  int wanted = write ? PROT_WRITE : kReadable;
  const guest::Mapping* mapping = machine.space().find(address.value);
  return mapping != nullptr && mapping->protection & wanted;
}

bool SharedPages::allows(Hold hold, bool write) {
  return hold == Hold::write || (hold == Hold::read && !write);
}

bool SharedPages::has(GuestAddr address, bool write) const {
  const Area& area = *find(address.value);
  return allows(area.holds[area.page(address.value)], write);
}

bool SharedPages::take(guest::Machine& machine, GuestAddr address, bool write) {
  if (!may_take(machine, address, write) || has(address, write)) return false; // something else is wrong
  take_in_turn(machine, wanted_at({address, write}));
  return true;
}

SharedPages::Wanted SharedPages::wanted_at(const Need& need) const {
  const Area& area = *find(need.address.value);
  return {.place = {static_cast<size_t>(&area - areas_.data()), area.page(need.address.value)},
          .write = need.write,
          .reached = true,
          .of_file = false};
}

std::vector<SharedPages::Wanted> SharedPages::takable(const guest::Machine& machine,
                                                      const std::vector<Need>& needs) const {
  std::vector<Wanted> result;
  for (const Need& need : needs)
    if (may_take(machine, need.address, need.write)) result.push_back(wanted_at(need));
  return result;
}

bool SharedPages::has(const Wanted& page) const {
  if (!page.reached) return std::ranges::find(unreached_, page.place) != unreached_.end();
  return allows(areas_[page.place.area].holds[page.place.page], page.write);
}

bool SharedPages::take_at_once(guest::Machine& machine, const Wanted& page) {
  if (has(page)) return true;
  auto [index, number] = page.place;
  Area& area = areas_[index];
  auto self = static_cast<uint32_t>(machine.identity().pid);
  uint32_t owner = 0;
  if (!page.reached || area.holds[number] == Hold::none) {
    if (!state(area, number).owner.compare_exchange_strong(owner, self)) return false;
    now_owned(machine, area, number, page.reached);
  }
  if (page.reached) open_to(area, number, page.write);
  return true;
}

void SharedPages::take_in_turn(guest::Machine& machine, const Wanted& page) {
  if (has(page)) return;
  auto [index, number] = page.place;
  Area& area = areas_[index];
  if (!page.reached || area.holds[number] == Hold::none) own(machine, area, number, page.reached);
  if (page.reached) open_to(area, number, page.write);
}

void SharedPages::open_to(Area& area, size_t page, bool write) {
  area.holds[page] = write ? Hold::write : Hold::read;
  protect(area.address(page), kPage, write ? PROT_READ | PROT_WRITE : PROT_READ);
}

// A process that waits for one page and keeps another could be waited for in turn. Here all take their pages
// in the order of the table, so that those who do so wait for each other in one direction only; and an
// instruction that cannot give back what it has goes first.
void SharedPages::take_together(guest::Machine& machine, std::vector<Wanted> pages) {
  std::ranges::sort(pages, {},
                    [&](const Wanted& page) { return areas_[page.place.area].first + page.place.page; });
  if (std::ranges::all_of(pages, [&](const Wanted& page) { return take_at_once(machine, page); })) return;
  keep_ = Keep::all;
  do {
    give_back();
    for (const Wanted& page : pages)
      take_in_turn(machine, page);
  } while (!std::ranges::all_of(pages, [&](const Wanted& page) { return has(page); }));
  keep_ = Keep::nothing;
}

// Makes the page this process's, whoever has it. `wait` waits until its owner may have let it go.
template <class Wait>
void SharedPages::claim(guest::Machine& machine, const Area& area, size_t page, Wait&& wait) {
  PageTable::Page& state = this->state(area, page);
  auto self = static_cast<uint32_t>(machine.identity().pid);
  for (int waits = 0;; ++waits) {
    uint32_t owner = 0;
    if (state.owner.compare_exchange_strong(owner, self) || owner == self) break;
    if (!is_alive(owner)) {
      if (!state.owner.compare_exchange_strong(owner, self)) continue;
      ++state.version; // it may have written
      break;
    }
    state.wanted = self;
    wait(owner, waits);
  }
  table_->end_wait(self);
}

void SharedPages::own(guest::Machine& machine, Area& area, size_t page, bool reached) {
  claim(machine, area, page, [&](uint32_t owner, int waits) { wait_for(machine, area, page, owner, waits); });
  now_owned(machine, area, page, reached);
}

void SharedPages::now_owned(guest::Machine& machine, Area& area, size_t page, bool reached) {
  (reached ? held_ : unreached_).push_back({static_cast<size_t>(&area - areas_.data()), page});
  mark_locks(machine, area, page);
  if (area.holds[page] != Hold::gone) log_change(machine, area, page);
}

// What the page holds, unless this process knows it.
void SharedPages::log_change(guest::Machine& machine, Area& area, size_t page) {
  uint32_t version = state(area, page).version;
  if (area.known[page] == version) return;
  area.known[page] = version;
  const char* content = area.copy + page * kPage;
  char read[kPage];
  if (area.inode != 0) {
    // What lies after the end of the file only the kernel can look at without a signal. It is zero if the
    // file ever grows again.
    if (read_own_memory(content, read, kPage) != kPage) std::memset(read, 0, sizeof read);
    content = read;
  }
  changed_(machine, GuestAddr(area.address(page)), content, kPage);
}

void SharedPages::wait_for(guest::Machine& machine, const Area& area, size_t page, uint32_t owner,
                           int before) {
  auto self = static_cast<uint32_t>(machine.identity().pid);
  // Who waits keeps nothing that others may wait for, if it can be helped.
  if (keep_ == Keep::nothing) give_back();
  if (keep_ == Keep::touched) give_back(touched(machine));
  if (!held_.empty() || !unreached_.empty()) {
    uint32_t number = area.first + static_cast<uint32_t>(page);
    // Who takes pages together can still give them back.
    table_->begin_wait(self, number, keep_ == Keep::all);
    std::vector<uint32_t> deadlock = table_->find_deadlock(self, number, is_alive);
    auto yields = [&](uint32_t other) { return table_->yields(other); };
    if (!deadlock.empty() && keep_ == Keep::all)
      give_back();
    else if (!deadlock.empty() && std::ranges::none_of(deadlock, yields))
      refuse_(fmt::format("memory shared by recorded processes: {}, which copy from page to page with "
                          "one instruction, wait for each other at {:#x}",
                          fmt::join(deadlock, " and "), area.address(page)));
  }
  wait_while(state(area, page).owner, owner, before);
  constexpr int kLong = 6;
  if (before >= kLong) tell_of_stopped(self, owner);
}

// It may go on at any time, or never: then this process stands still, and the user should know why.
void SharedPages::tell_of_stopped(uint32_t self, uint32_t owner) {
  if (told_of_stopped_ || state_of(owner) != 'T') return;
  told_of_stopped_ = true;
  std::string line = fmt::format("rdb: process {} waits for memory that it shares with process {}, which is "
                                 "stopped\n",
                                 self, owner);
  raw_syscall(SYS_write, guest::own_error_stream(), reinterpret_cast<int64_t>(line.data()),
              static_cast<int64_t>(line.size()));
}

void SharedPages::release(Area& area, size_t page, Hold now) {
  PageTable::Page& state = this->state(area, page);
  if (area.holds[page] == Hold::write) area.known[page] = ++state.version;
  area.holds[page] = now;
  // To the one that waits: this process may want it back before the other has woken up.
  uint32_t self = state.owner;
  uint32_t next = state.wanted.exchange(0);
  state.owner = next == self ? 0 : next;
  if (next != 0) raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&state.owner), FUTEX_WAKE, INT_MAX);
}

void SharedPages::give_back(const std::vector<Held>& but) {
  if (!held_.empty()) tell_locks();
  auto goes = [&](const Held& held) { return std::ranges::find(but, held) == but.end(); };
  for (const Held& held : held_)
    if (goes(held)) protect(areas_[held.area].address(held.page), kPage, PROT_NONE);
  for (const Held& held : held_)
    if (goes(held)) release(areas_[held.area], held.page, Hold::none);
  std::erase_if(held_, goes);
  give_back_unreached();
}

void SharedPages::give_back_unreached() {
  for (const Held& held : unreached_) {
    Area& area = areas_[held.area];
    release(area, held.page, area.holds[held.page]);
  }
  unreached_.clear();
}

void SharedPages::let_go() {
  // While nobody else is there, there is no need.
  bool alone = std::ranges::all_of(areas_, [&](const Area& area) { return state(area, 0).users == 1; });
  if (!alone) give_back();
}

void SharedPages::let_go_between_instructions(const guest::Machine& machine) {
  if (machine.now().value != taken_at_) let_go();
}

bool SharedPages::wanted() const {
  return std::ranges::any_of(
      held_, [&](const Held& held) { return state(areas_[held.area], held.page).wanted != 0; });
}

void SharedPages::leave() {
  give_back();
  machine_ = nullptr; // what it still has is marked when it is dead
  for (Area& area : areas_)
    --state(area, 0).users;
}

uint64_t SharedPages::family(uint64_t address) const {
  const Area* area = find(address);
  return area == nullptr ? 0 : table_->id() + area->family;
}

void SharedPages::mappings_changed(const guest::AddressSpace& space, const guest::SystemCall& call,
                                   int64_t result) {
  if (areas_.empty() || result < 0) return;
  const SyscallArgs& a = call.arguments;
  bool places = call.number == SYS_mmap || call.number == SYS_shmat;
  uint64_t begin = places ? static_cast<uint64_t>(result) : a[0];
  uint64_t end = guest::page_up(begin + a[1]);
  if (call.number == SYS_shmat) end = space.find(begin)->end;
  if (call.number == SYS_mremap) end = std::max(end, begin + 1); // a length of 0 makes a second mapping
  bool detaches = call.number == SYS_shmdt;                      // how much of it was there is not said
  if (detaches) end = UINT64_MAX;
  auto is_hit = [&](uint64_t at) {
    return at >= begin && at < end && (!detaches || space.find(at) == nullptr);
  };
  bool protects = call.number == SYS_mprotect || call.number == SYS_pkey_mprotect;
  bool removes = call.number == SYS_madvise && a[2] == MADV_REMOVE;
  if (!changes_mappings(properties_of(call.number)) && !removes) return;
  for (Area& area : areas_) {
    if (end <= area.begin || begin >= area.end) continue;
    if (call.number == SYS_mremap || removes)
      refuse_(fmt::format("memory shared by recorded processes: {} at {:#x}",
                          removes ? "MADV_REMOVE" : "mremap", begin));
    if (protects) {
      give_back();
      withhold(area);
      continue;
    }
    for (size_t i = 0; i < area.holds.size(); ++i)
      if (is_hit(area.address(i)) && area.holds[i] == Hold::none) area.holds[i] = Hold::gone;
    std::erase_if(held_, [&](const Held& held) {
      bool here = &areas_[held.area] == &area && is_hit(area.address(held.page));
      if (here) release(area, held.page, Hold::gone);
      return here;
    });
  }
  for (size_t i = areas_.size(); i-- > 0;) {
    const Area& area = areas_[i];
    bool gone = std::ranges::all_of(area.holds, [](Hold hold) { return hold == Hold::gone; });
    // What others have mapped can still be changed from here.
    bool changeable =
        area.inode != 0 && state(area, 0).users > 1 && guest::is_open_for_writing(area.device, area.inode);
    if (gone && !changeable) drop(i);
  }
}

// Nothing of it is mapped any more: its memory is not to stay because of the second mapping.
void SharedPages::drop(size_t index) {
  --state(areas_[index], 0).users;
  munmap(areas_[index].copy, areas_[index].end - areas_[index].begin);
  areas_.erase(areas_.begin() + static_cast<ptrdiff_t>(index));
  for (Held& held : held_)
    if (held.area > index) --held.area;
}

} // namespace rdb::record
