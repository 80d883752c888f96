// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How system calls come to memory that recorded processes share. The kernel does not wait for a page that
// another process has: it is led to a mapping that is always there, or the process takes all that the call
// needs before.
#include "rdbtool/guest/space_view.h"
#include "rdbtool/guest/syscalls/call_reads.h"
#include "rdbtool/record/shared_pages.h"

#include <algorithm>
#include <climits>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::record {

using guest::kPage;

bool SharedPages::take_for_call(guest::Process& process, const guest::SystemCall& call) {
  std::vector<Need> pages;
  // As if the call took all that it is given.
  visit_call_reads(static_cast<uint64_t>(call.number), call.arguments, INT32_MAX,
                   guest::SpaceView(process.space()), [&](GuestAddr address, uint64_t size) {
                     if (find(address.value) == nullptr) return;
                     for (uint64_t at = guest::page_down(address.value); at < address.value + size;
                          at += kPage)
                       pages.push_back({GuestAddr(at), false});
                   });
  bool any = !pages.empty();
  take_together(process, std::move(pages));
  return any;
}

void SharedPages::take_all(guest::Process& process) {
  std::vector<Need> pages;
  for (const Area& area : areas_)
    for (uint64_t at = area.begin; at < area.end; at += kPage)
      pages.push_back({GuestAddr(at), false});
  take_together(process, std::move(pages));
}

bool SharedPages::has_file(uint64_t device, uint64_t inode) const {
  return inode != 0 && std::ranges::any_of(areas_, [&](const Area& area) {
           return area.inode == inode && area.device == device;
         });
}

bool SharedPages::take_file(guest::Process& process, uint64_t device, uint64_t inode, uint64_t begin,
                            uint64_t end) {
  std::vector<Need> pages;
  std::vector<Held> unmapped;
  for (size_t i = 0; i < areas_.size(); ++i) {
    const Area& area = areas_[i];
    if (area.inode != inode || area.device != device) continue;
    for (size_t page = 0; page < area.holds.size(); ++page) {
      uint64_t offset = area.offset + page * kPage;
      if (offset + kPage <= begin || offset >= end) continue;
      if (area.holds[page] == Hold::gone)
        unmapped.push_back({i, page});
      else
        pages.push_back({GuestAddr(area.address(page)), false});
    }
  }
  bool any = !pages.empty() || !unmapped.empty();
  take_together(process, std::move(pages));
  // Everybody takes these in the order of the table.
  std::ranges::sort(unmapped, {}, [&](const Held& held) { return areas_[held.area].first + held.page; });
  for (const Held& held : unmapped)
    own_unmapped(process, held.area, held.page);
  return any;
}

void SharedPages::file_call_done(uint64_t device, uint64_t inode, bool changed) {
  for (const Held& held : held_) {
    Area& area = areas_[held.area];
    if (changed && area.inode == inode && area.device == device)
      area.known[held.page] = ++state(area, held.page).version;
  }
  for (const Held& held : unmapped_) {
    Area& area = areas_[held.area];
    if (changed) ++state(area, held.page).version;
    release(area, held.page, Hold::gone);
  }
  unmapped_.clear();
}

// Where the kernel finds those bytes; as they are if they are not shared, nothing if only a part of them is.
std::optional<void*> SharedPages::reach(void* address, uint64_t size) const {
  auto begin = reinterpret_cast<uint64_t>(address);
  for (const Area& area : areas_) {
    if (begin >= area.end || begin + size <= area.begin) continue;
    for (uint64_t at = begin; at < begin + size; at = guest::page_down(at) + kPage)
      if (!area.has(at) || area.holds[(at - area.begin) / kPage] == Hold::gone) return std::nullopt;
    return area.copy + (begin - area.begin);
  }
  return address;
}

bool SharedPages::redirect(guest::Process& process, const guest::SystemCall& call, SyscallArgs& arguments,
                           Arguments& storage) const {
  guest::AddressSpace& space = process.space();
  bool is_message = call.number == SYS_sendmsg;
  bool has_vectors =
      is_message || call.number == SYS_writev || call.number == SYS_pwritev || call.number == SYS_pwritev2;
  bool all = true;
  auto lead = [&](auto& pointer, uint64_t size) {
    std::optional<void*> there = reach(pointer, size);
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
                     std::optional<void*> there = reach(pointer, size);
                     if (there == pointer) return;
                     const auto* argument =
                         std::find(call.arguments.begin(), call.arguments.end(), address.value);
                     if (!there || argument == call.arguments.end()) {
                       all = false;
                       return;
                     }
                     auto i = static_cast<size_t>(argument - call.arguments.begin());
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
