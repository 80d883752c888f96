// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/shared_pages.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/raw_syscall.h"
#include "rdbtool/guest/space_view.h"
#include "rdbtool/guest/syscalls/call_reads.h"

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
  guest::raw_syscall(SYS_mprotect, static_cast<int64_t>(begin), static_cast<int64_t>(size), protection);
}

// One that was killed, and that nobody has waited for yet, owns nothing any more.
bool is_alive(uint32_t pid) {
  char text[512];
  std::snprintf(text, sizeof text, "/proc/%u/stat", pid);
  int fd = open(text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[std::max<ssize_t>(n, 0)] = 0;
  const char* behind_name = std::strrchr(text, ')');
  return behind_name != nullptr && behind_name[1] == ' ' && behind_name[2] != 'Z' && behind_name[2] != 'X';
}

void wait_while(std::atomic<uint32_t>& word, uint32_t value) {
  timespec most{0, 2'000'000}; // its owner may have died
  guest::raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&word), FUTEX_WAIT, value,
                     reinterpret_cast<int64_t>(&most));
}

// A string instruction that repeats may have used a part of what it needs.
bool repeats(guest::Process& process) {
  uint8_t bytes[16] = {};
  process.space().read(GuestAddr(process.registers().rip), bytes, sizeof bytes - 1);
  bool repeated = false;
  for (uint8_t byte : bytes) {
    bool repeat = byte == 0xF2 || byte == 0xF3;
    bool other_prefix = byte == 0x66 || byte == 0x67 || byte == 0x64 || byte == 0x65 || (byte & 0xF0) == 0x40;
    if (!repeat && !other_prefix)
      return repeated && byte >= 0xA4 && byte <= 0xAF && byte != 0xA8 && byte != 0xA9;
    repeated |= repeat;
  }
  return false;
}

} // namespace

SharedPages::~SharedPages() {
  for (Area& area : areas_) {
    munmap(area.table, sizeof(Table) + area.holds.size() * sizeof(Page));
    if (area.copy != nullptr) munmap(area.copy, area.end - area.begin);
  }
}

SharedPages::Area* SharedPages::find(uint64_t address) {
  for (Area& area : areas_)
    if (area.has(address) && area.holds[(address - area.begin) / kPage] != Hold::gone) return &area;
  return nullptr;
}

void SharedPages::add(const guest::Mapping& mapping) {
  Area area;
  area.begin = mapping.begin;
  area.end = mapping.end;
  size_t pages = (mapping.end - mapping.begin) / kPage;
  void* table = mmap(nullptr, sizeof(Table) + pages * sizeof(Page), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  // A length of 0 makes a second mapping of the same memory.
  void* copy = mremap(reinterpret_cast<void*>(mapping.begin), 0, mapping.end - mapping.begin, MREMAP_MAYMOVE);
  if (table == MAP_FAILED || copy == MAP_FAILED)
    refuse_(fmt::format("memory shared by recorded processes: {} at {:#x}: {}",
                        mapping.name.empty() ? "the mapping" : mapping.name, mapping.begin,
                        std::strerror(errno)));
  area.table = static_cast<Table*>(table);
  area.table->users = 1;
  area.copy = static_cast<char*>(copy);
  if (!(mapping.protection & PROT_WRITE)) mprotect(copy, mapping.end - mapping.begin, PROT_READ | PROT_WRITE);
  area.known.resize(pages);
  area.holds.resize(pages);
  areas_.push_back(std::move(area));
}

void SharedPages::before_fork(const guest::Process& process) {
  give_back();
  for (const auto& [begin, mapping] : process.space().mappings()) {
    bool writable = mapping.protection & PROT_WRITE || mapping.flags & MAP_ANONYMOUS;
    if (mapping.flags & MAP_SHARED && writable && find(begin) == nullptr) add(mapping);
  }
  for (Area& area : areas_)
    ++area.table->users;
}

void SharedPages::after_fork(int64_t result) {
  for (Area& area : areas_) {
    if (result < 0) --area.table->users;
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

bool SharedPages::take(guest::Process& process, GuestAddr address, bool write) {
  Area* area = find(address.value);
  if (area == nullptr) return false;
  int wanted = write ? PROT_WRITE : PROT_READ;
  const guest::Mapping* mapping = process.space().find(address.value);
  if (mapping == nullptr || !(mapping->protection & wanted)) return false;
  size_t page = (address.value - area->begin) / kPage;
  Hold& hold = area->holds[page];
  if (hold == Hold::write || (hold == Hold::read && !write)) return false; // something else is wrong
  if (hold == Hold::none) own(process, *area, page);
  hold = write ? Hold::write : Hold::read;
  protect(area->address(page), kPage, write ? PROT_READ | PROT_WRITE : PROT_READ);
  return true;
}

bool SharedPages::take_for_instruction(guest::Process& process, const engine::Fault& fault) {
  constexpr int kPageFault = 14;
  constexpr uint64_t kWrite = 2;
  if (areas_.empty() || fault.signal != SIGSEGV || fault.trap_number != kPageFault) return false;
  GuestAddr address(reinterpret_cast<uint64_t>(fault.info.si_addr));
  if (!take(process, address, fault.error_code & kWrite)) return false;
  taken_at_ = process.now().value;
  return true;
}

void SharedPages::own(guest::Process& process, Area& area, size_t page) {
  Page& state = area.table->pages[page];
  auto self = static_cast<uint32_t>(process.identity().pid);
  constexpr int kMostWaits = 2000; // some seconds
  int waits = 0;
  for (;;) {
    uint32_t owner = 0;
    if (state.owner.compare_exchange_strong(owner, self) || owner == self) break;
    if (!is_alive(owner)) {
      if (!state.owner.compare_exchange_strong(owner, self)) continue;
      ++state.version; // it may have written
      break;
    }
    state.wanted = self;
    // Who waits keeps nothing that others may wait for.
    if (!repeats(process)) {
      give_back();
    } else if (!held_.empty() && ++waits > kMostWaits) {
      refuse_(fmt::format("memory shared by recorded processes: {} and {}, which copy from page to page with "
                          "one instruction, wait for each other at {:#x}",
                          self, owner, area.address(page)));
    }
    wait_while(state.owner, owner);
  }
  held_.push_back({static_cast<size_t>(&area - areas_.data()), page});
  uint32_t version = state.version;
  if (area.known[page] == version) return;
  area.known[page] = version;
  changed_(process, GuestAddr(area.address(page)), area.copy + page * kPage, kPage);
}

void SharedPages::release(Area& area, size_t page, Hold now) {
  Page& state = area.table->pages[page];
  if (area.holds[page] == Hold::write) area.known[page] = ++state.version;
  area.holds[page] = now;
  // To the one that waits: this process may want it back before the other has woken up.
  uint32_t self = state.owner;
  uint32_t next = state.wanted.exchange(0);
  state.owner = next == self ? 0 : next;
  if (next != 0) guest::raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&state.owner), FUTEX_WAKE, INT_MAX);
}

void SharedPages::give_back() {
  for (const Held& held : held_)
    protect(areas_[held.area].address(held.page), kPage, PROT_NONE);
  for (const Held& held : held_)
    release(areas_[held.area], held.page, Hold::none);
  held_.clear();
}

void SharedPages::let_go() {
  // While nobody else is there, there is no need.
  bool alone = std::ranges::all_of(areas_, [](const Area& area) { return area.table->users == 1; });
  if (!alone) give_back();
}

void SharedPages::let_go_between_instructions(const guest::Process& process) {
  if (process.now().value != taken_at_) let_go();
}

bool SharedPages::wanted() const {
  return std::ranges::any_of(
      held_, [&](const Held& held) { return areas_[held.area].table->pages[held.page].wanted != 0; });
}

void SharedPages::leave() {
  give_back();
  for (Area& area : areas_)
    --area.table->users;
}

void SharedPages::take_range(guest::Process& process, uint64_t begin, uint64_t size) {
  for (uint64_t at = guest::page_down(begin); at < begin + size; at += kPage)
    take(process, GuestAddr(at), false);
}

bool SharedPages::take_for_call(guest::Process& process, const guest::SystemCall& call) {
  bool any = false;
  // As if the call took all that it is given.
  visit_call_reads(static_cast<uint64_t>(call.number), call.arguments, INT32_MAX,
                   guest::SpaceView(process.space()), [&](GuestAddr address, uint64_t size) {
                     if (find(address.value) == nullptr) return;
                     any = true;
                     take_range(process, address.value, size);
                   });
  return any;
}

void SharedPages::take_all(guest::Process& process) {
  for (size_t i = 0; i < areas_.size(); ++i)
    take_range(process, areas_[i].begin, areas_[i].end - areas_[i].begin);
}

std::optional<uint64_t> SharedPages::always_there(uint64_t address) const {
  for (const Area& area : areas_)
    if (area.has(address)) return reinterpret_cast<uint64_t>(area.copy) + (address - area.begin);
  return std::nullopt;
}

void SharedPages::redirect_futex(SyscallArgs& arguments) const {
  int command = static_cast<int>(arguments[1]) & FUTEX_CMD_MASK;
  bool has_second = command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE;
  std::optional<uint64_t> word = always_there(arguments[0]);
  std::optional<uint64_t> second = has_second ? always_there(arguments[4]) : std::nullopt;
  if (!word && !second) return;
  switch (command) {
  case FUTEX_WAIT:
  case FUTEX_WAIT_BITSET:
  case FUTEX_WAKE:
  case FUTEX_WAKE_BITSET:
  case FUTEX_REQUEUE:
  case FUTEX_CMP_REQUEUE:
    break;
  default:
    refuse_(fmt::format("memory shared by recorded processes: futex operation {} at {:#x}", command,
                        arguments[0]));
  }
  if (word) arguments[0] = *word;
  if (second) arguments[4] = *second;
}

void SharedPages::mappings_changed(const guest::SystemCall& call, int64_t result) {
  if (areas_.empty() || result < 0) return;
  const SyscallArgs& a = call.arguments;
  uint64_t begin = call.number == SYS_mmap ? static_cast<uint64_t>(result) : a[0];
  uint64_t end = guest::page_up(begin + a[1]);
  bool protects = call.number == SYS_mprotect;
  if (!protects && call.number != SYS_munmap && call.number != SYS_mmap && call.number != SYS_mremap) return;
  for (Area& area : areas_) {
    if (end <= area.begin || begin >= area.end) continue;
    if (call.number == SYS_mremap)
      refuse_(fmt::format("memory shared by recorded processes: mremap at {:#x}", begin));
    if (protects) {
      give_back();
      withhold(area);
      continue;
    }
    for (size_t i = 0; i < area.holds.size(); ++i)
      if (area.address(i) >= begin && area.address(i) < end && area.holds[i] == Hold::none)
        area.holds[i] = Hold::gone;
    std::erase_if(held_, [&](const Held& held) {
      uint64_t at = area.address(held.page);
      bool here = &areas_[held.area] == &area && at >= begin && at < end;
      if (here) release(area, held.page, Hold::gone);
      return here;
    });
  }
}

} // namespace rdb::record
