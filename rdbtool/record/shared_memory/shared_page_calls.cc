// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How system calls come to memory that recorded processes share. The kernel does not wait for a page that
// another process has: it is led to a mapping that is always there, or the process takes all that the call
// needs before.
#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/record/shared_memory/shared_pages.h"
#include "rdbtool/syscalls/call_reads.h"

#include <algorithm>
#include <climits>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::record {

using guest::kPage;

bool SharedPages::add_for_call(const guest::Machine& machine, const std::vector<Need>& needs) {
  std::vector<Wanted> pages = takable(machine, needs);
  for_call_.insert(for_call_.end(), pages.begin(), pages.end());
  return !pages.empty();
}

bool SharedPages::add_reads(guest::Machine& machine, const guest::SystemCall& call) {
  std::vector<Need> needs;
  // As if the call took all that it is given.
  visit_call_reads(static_cast<uint64_t>(call.number), call.arguments, INT32_MAX,
                   guest::SpaceView(machine.space()), [&](GuestAddr address, uint64_t size) {
                     for (uint64_t at = guest::page_down(address.value); at < address.value + size;
                          at += kPage)
                       needs.push_back({GuestAddr(at), false});
                   });
  return add_for_call(machine, needs);
}

bool SharedPages::add_writes(const guest::Machine& machine, const std::vector<iovec>& ranges) {
  std::vector<Need> needs;
  for (const Area& area : areas_)
    for (const iovec& range : ranges) {
      auto begin = reinterpret_cast<uint64_t>(range.iov_base);
      uint64_t end = std::min(area.end, begin + std::min<uint64_t>(range.iov_len, INT32_MAX));
      for (uint64_t at = std::max(area.begin, guest::page_down(begin)); at < end; at += kPage)
        needs.push_back({GuestAddr(at), true});
    }
  return add_for_call(machine, needs);
}

void SharedPages::take_for_call(guest::Machine& machine) {
  take_together(machine, for_call_);
}

void SharedPages::take_all(guest::Machine& machine) {
  std::vector<Need> pages;
  for (const Area& area : areas_)
    for (uint64_t at = area.begin; at < area.end; at += kPage)
      pages.push_back({GuestAddr(at), false});
  std::vector<Wanted> all = takable(machine, pages);
  all.insert(all.end(), for_call_.begin(), for_call_.end());
  take_together(machine, std::move(all));
}

bool SharedPages::has_file(uint64_t device, uint64_t inode) const {
  return inode != 0 && std::ranges::any_of(areas_, [&](const Area& area) {
           return area.inode == inode && area.device == device;
         });
}

// A page that is not mapped here any more, or that the program may not use, is changed for the others.
bool SharedPages::add_file(const guest::Machine& machine, uint64_t device, uint64_t inode, uint64_t begin,
                           uint64_t end) {
  size_t before = for_call_.size();
  for (size_t i = 0; i < areas_.size(); ++i) {
    const Area& area = areas_[i];
    if (area.inode != inode || area.device != device) continue;
    for (size_t page = 0; page < area.holds.size(); ++page) {
      uint64_t offset = area.offset + page * kPage;
      if (offset + kPage <= begin || offset >= end) continue;
      bool reached =
          area.holds[page] != Hold::gone && may_take(machine, GuestAddr(area.address(page)), false);
      for_call_.push_back({.place = {i, page}, .write = false, .reached = reached, .of_file = true});
    }
  }
  return for_call_.size() != before;
}

void SharedPages::file_changed(guest::Machine& machine, const trace::FilePart& part) {
  for (Area& area : areas_) {
    if (area.inode != part.inode || area.device != part.device || area.inode == 0) continue;
    for (size_t page = 0; page < area.holds.size(); ++page) {
      uint64_t offset = area.offset + page * kPage;
      if (offset + kPage <= part.begin || offset >= part.end || area.holds[page] == Hold::gone) continue;
      area.known[page] = state(area, page).version - 1; // it is logged when the page is taken the next time
      if (area.holds[page] != Hold::none) log_change(machine, area, page);
    }
  }
}

void SharedPages::call_done(bool changed) {
  for (const Wanted& page : for_call_) {
    if (!changed || !page.of_file) continue;
    Area& area = areas_[page.place.area];
    area.known[page.place.page] = ++state(area, page.place.page).version;
  }
  for_call_.clear();
  give_back_unreached();
}

namespace {

constexpr int kSurelyReadable = PROT_READ | PROT_WRITE; // what can be written can be read, too

// Whether `size` readable bytes are all that this argument gives the call: otherwise the kernel would find
// something after their end.
bool is_whole(const guest::AddressSpace& space, const guest::SystemCall& call, size_t index, uint64_t size) {
  uint64_t end = call.arguments[index] + size;
  const guest::Mapping* after = space.find(end);
  if (end % kPage != 0 || (after != nullptr && after->protection & kSurelyReadable)) return true;
  const ArgSpec& argument = find_syscall(static_cast<uint32_t>(call.number))->args[index];
  return argument.kind == ArgKind::in_text && call.arguments[argument.count_arg] == size;
}

} // namespace

// Where the kernel finds those bytes; as they are if they are not shared, nothing if only a part of them is,
// or if the program itself could not read them all.
std::optional<void*> SharedPages::reach(const guest::AddressSpace& space, void* address,
                                        uint64_t size) const {
  auto begin = reinterpret_cast<uint64_t>(address);
  for (const Area& area : areas_) {
    if (begin >= area.end || begin + size <= area.begin) continue;
    for (uint64_t at = begin; at < begin + size; at = guest::page_down(at) + kPage) {
      if (!area.has(at) || area.holds[area.page(at)] == Hold::gone) return std::nullopt;
      const guest::Mapping* mapping = space.find(at);
      if (mapping == nullptr || !(mapping->protection & kReadable)) return std::nullopt;
    }
    return area.copy + (begin - area.begin);
  }
  return address;
}

bool SharedPages::redirect(guest::Machine& machine, const guest::SystemCall& call, SyscallArgs& arguments,
                           Arguments& storage) const {
  guest::AddressSpace& space = machine.space();
  bool is_message = call.number == SYS_sendmsg;
  bool has_vectors =
      is_message || call.number == SYS_writev || call.number == SYS_pwritev || call.number == SYS_pwritev2;
  bool all = true;
  auto lead = [&](auto& pointer, uint64_t size) {
    std::optional<void*> there = reach(space, pointer, size);
    if (there) pointer = *there;
    all &= there.has_value();
  };
  if (has_vectors) {
    // What is somewhere else by now has been read already.
    if (arguments[1] != call.arguments[1]) return true;
    uint64_t at = arguments[1];
    uint64_t count = arguments[2];
    if (is_message) {
      if (space.read(GuestAddr(at), &storage.message, sizeof(msghdr)) != sizeof(msghdr)) return false;
      at = reinterpret_cast<uint64_t>(storage.message.msg_iov);
      count = storage.message.msg_iovlen;
      lead(storage.message.msg_name, storage.message.msg_namelen);
      lead(storage.message.msg_control, storage.message.msg_controllen);
    }
    if (count > IOV_MAX) return false;
    storage.vectors.resize(count);
    if (space.read(GuestAddr(at), storage.vectors.data(), count * sizeof(iovec)) != count * sizeof(iovec))
      return false;
    for (iovec& vector : storage.vectors)
      lead(vector.iov_base, vector.iov_len);
    if (!all) return false;
    storage.message.msg_iov = storage.vectors.data();
    arguments[1] = is_message ? reinterpret_cast<uint64_t>(&storage.message)
                              : reinterpret_cast<uint64_t>(storage.vectors.data());
    return true;
  }
  visit_call_reads(static_cast<uint64_t>(call.number), call.arguments, INT32_MAX, guest::SpaceView(space),
                   [&](GuestAddr address, uint64_t size) {
                     auto* pointer = reinterpret_cast<void*>(address.value);
                     std::optional<void*> there = reach(space, pointer, size);
                     if (there == pointer) return;
                     const auto* argument =
                         std::find(call.arguments.begin(), call.arguments.end(), address.value);
                     auto i = static_cast<size_t>(argument - call.arguments.begin());
                     if (!there || argument == call.arguments.end() || !is_whole(space, call, i, size)) {
                       all = false;
                       return;
                     }
                     if (arguments[i] == address.value) arguments[i] = reinterpret_cast<uint64_t>(*there);
                   });
  return all;
}

std::optional<uint64_t> SharedPages::always_there(uint64_t address) const {
  for (const Area& area : areas_)
    if (area.has(address) && area.holds[area.page(address)] != Hold::gone)
      return reinterpret_cast<uint64_t>(area.copy) + (address - area.begin);
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

} // namespace rdb::record
