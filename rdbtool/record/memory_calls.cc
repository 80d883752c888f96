// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What calls do to memory that a replay, which has private memory in the place of shared memory and copies of
// files, would not find out by itself.
#include "rdbtool/base/error.h"
#include "rdbtool/guest/memory/nonzero_pages.h"
#include "rdbtool/record/log_check.h"
#include "rdbtool/record/recorder.h"
#include "rdbtool/syscalls/call_properties.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace rdb::record {
namespace {

// Whether a part of the shared memory without a name at this address is mapped elsewhere, too. Only the
// kernel knows which of its files the memory is.
bool is_mapped_twice(uint64_t address) {
  struct Moved {
    uint64_t begin, end, offset, inode;
  };
  std::ifstream maps("/proc/self/maps");
  std::vector<Moved> entries;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream in(line);
    Moved entry;
    char dash;
    std::string rights, device, name;
    in >> std::hex >> entry.begin >> dash >> entry.end >> rights >> entry.offset >> device;
    if (in >> std::dec >> entry.inode >> name && name == "/dev/zero") entries.push_back(entry);
  }
  auto has = [&](const Moved& entry) { return address >= entry.begin && address < entry.end; };
  auto here = std::ranges::find_if(entries, has);
  if (here == entries.end()) return false;
  return std::ranges::any_of(entries, [&](const Moved& other) {
    return other.begin != here->begin && other.inode == here->inode &&
           other.offset < here->offset + (here->end - here->begin) &&
           here->offset < other.offset + (other.end - other.begin);
  });
}

} // namespace

using guest::kPage;

// What of a range is mapped and yet not there: its file was cut off.
void Recorder::add_cut_off(guest::Machine& machine, uint64_t begin, uint64_t end, Parts& parts) {
  guest::AddressSpace& space = machine.space();
  for (uint64_t at = begin; at < end;) {
    const guest::Mapping* mapping = space.find(at);
    if (mapping == nullptr) return;
    uint64_t mapped_end = std::min(mapping->end, end);
    at = space.end_of_content(*mapping, at, mapped_end);
    if (at == mapped_end) continue;
    guest::Mapping part = *mapping;
    part.begin = guest::page_down(at);
    part.end = guest::page_up(mapped_end);
    parts.push_back(part);
    at = mapped_end;
  }
}

Recorder::Parts Recorder::cut_off(guest::Machine& machine, const guest::SystemCall& call) {
  constexpr uint64_t kLargest = 32; // what calls that rdb carries out itself read or write
  Parts result;
  for (uint64_t argument : call.arguments)
    add_cut_off(machine, argument, argument + kLargest, result);
  return result;
}

// If there is no room for its frame, the handler of SIGSEGV is tried, which may have another stack.
Recorder::Parts Recorder::cut_off_frame(guest::Machine& machine, const guest::PendingSignal& signal) {
  Parts result;
  for (int number : {signal.number, SIGSEGV}) {
    const guest::SignalAction& action = machine.action(number);
    if (action.handler <= reinterpret_cast<uint64_t>(SIG_IGN)) break;
    guest::FramePlace place = guest::place_of_frame(machine.registers(), machine.engine().vector_size(),
                                                    action, machine.current().alternate_stack);
    add_cut_off(machine, place.begin, place.end, result);
    if (result.empty()) break;
  }
  return result;
}

Recorder::Parts Recorder::cut_off_return(guest::Machine& machine) {
  Parts result;
  guest::FramePlace place = guest::frame_to_return_from(machine.engine(), machine.space());
  add_cut_off(machine, place.begin, place.end, result);
  if (place.vectors != 0)
    add_cut_off(machine, place.vectors, place.vectors + machine.engine().vector_size() + 4, result);
  return result;
}

void Recorder::log_protection(guest::Machine& machine, const guest::Mapping& part, int protection) {
  trace::MapInput map;
  map.op = trace::MapOp::protect;
  map.address = GuestAddr(part.begin);
  map.length = part.end - part.begin;
  map.protection = static_cast<uint8_t>(protection);
  check(log_.append(machine.current().id, machine.now(), map));
}

// A call that rdb carries out itself, and replay again, has failed for memory that replay has.
void Recorder::log_without(guest::Machine& machine, const Parts& missing, const guest::SystemCall& call,
                           int64_t result) {
  for (const guest::Mapping& part : missing)
    log_protection(machine, part, PROT_NONE);
  log_call(machine, call, result, {});
  for (const guest::Mapping& part : missing)
    log_protection(machine, part, part.protection);
}

void Recorder::on_syscall_exit(guest::Machine& machine, const guest::SystemCall& call, int64_t result) {
  if (result == -EFAULT && properties_of(call.number).is_internal) {
    log_without(machine, cut_off(machine, call), call, result);
    return;
  }
  if (call.number == SYS_rt_sigreturn && result == 0) {
    log_without(machine, cut_off_return(machine), call, result);
    return;
  }
  end_removal();
  check_moved(machine, call, result);
  shared_.mappings_changed(machine.space(), call, result);
  if (shared_files_.any() && changes_mappings(properties_of(call.number)))
    shared_files_.tell(machine.space(), shared_, log_);
  if (outside_writers_.any() && changes_mappings(properties_of(call.number)))
    outside_writers_.mappings_changed(machine.space());
  log_call(machine, call, result, {});
  log_memory_effects(machine, call, result);
  join_protected(machine, call);
  // A mapping that has grown may reach a part of the file that is mapped elsewhere.
  if (call.number == SYS_mremap && result >= 0)
    if (const guest::Mapping& moved = *machine.space().find(static_cast<uint64_t>(result));
        !(moved.flags & MAP_ANONYMOUS))
      join_same_part(machine, moved);
}

void Recorder::on_remapping(guest::Machine& machine, const guest::SystemCall& call, int64_t result) {
  const SyscallArgs& a = call.arguments;
  shared_.mappings_changed(machine.space(), call, result);
  trace::MapInput map;
  map.address = GuestAddr(a[0]);
  map.length = a[1];
  switch (properties_of(call.number).mapping) {
  case MappingChange::map:
    log_mapping(machine, *machine.space().find(static_cast<uint64_t>(result)), -1);
    return;
  case MappingChange::unmap:
    map.op = trace::MapOp::unmap;
    break;
  case MappingChange::detach:
    limit("a child by vfork that detaches a System V segment (shmdt of {:#x})", a[0]);
  case MappingChange::protect:
  case MappingChange::protect_with_key:
    map.op = trace::MapOp::protect;
    map.protection = a[2] & (PROT_READ | PROT_WRITE | PROT_EXEC);
    break;
  case MappingChange::move:
    map.op = trace::MapOp::remap;
    map.old_address = GuestAddr(a[0]);
    map.old_length = a[1];
    map.address = GuestAddr(static_cast<uint64_t>(result));
    map.length = a[2];
    map.flags = static_cast<uint32_t>(a[3]);
    break;
  case MappingChange::advise:
    map.op = trace::MapOp::advise;
    map.flags = static_cast<uint32_t>(a[2]);
    break;
  case MappingChange::set_break:
    map.op = trace::MapOp::program_break;
    map.length = 0;
    break;
  default:
    bug("memory call {} is not known", call.number);
  }
  check(log_.append(machine.current().id, machine.now(), map));
  log_memory_effects(machine, call, result);
}

// Memory that is there twice after mremap must not be written to in one place: replay would not show it in
// the other.
void Recorder::check_moved(guest::Machine& machine, const guest::SystemCall& call, int64_t result) {
  const SyscallArgs& a = call.arguments;
  if (call.number != SYS_mremap || result < 0) return;
  const guest::Mapping& mapping = *machine.space().find(static_cast<uint64_t>(result));
  bool twice = a[1] == 0 || a[3] & MREMAP_DONTUNMAP;
  if (is_view(mapping) && a[2] != a[1])
    limit("mremap that changes the length of {}, which is mapped at several places", mapping.name);
  // So may shared memory without a name if a part of it has stayed.
  bool nameless = mapping.flags & MAP_ANONYMOUS && mapping.flags & MAP_SHARED;
  bool grows = guest::page_up(a[2]) > guest::page_up(a[1]);
  if (!twice && nameless && grows && shared_.family(a[0]) == 0)
    twice = is_mapped_twice(static_cast<uint64_t>(result));
  if (!twice) return;
  bool writable = mapping.protection & PROT_WRITE || mapping.may_write || mapping.flags & MAP_ANONYMOUS;
  if (mapping.flags & MAP_SHARED && writable)
    limit("two shared mappings of {}, one of them writable",
          mapping.name.empty() ? "the same memory" : mapping.name);
}

void Recorder::log_memory_effects(guest::Machine& machine, const guest::SystemCall& call, int64_t result) {
  const SyscallArgs& a = call.arguments;
  trace::MapInput partial;
  switch (properties_of(call.number).mapping) {
  case MappingChange::protect:
  case MappingChange::protect_with_key:
    partial.op = trace::MapOp::protect;
    partial.protection = a[2] & (PROT_READ | PROT_WRITE | PROT_EXEC);
    break;
  case MappingChange::advise:
    if (!guest::drops_pages(static_cast<int>(a[2]))) return;
    if (result == 0) log_foreign(machine, a[0], guest::page_up(a[0] + a[1]));
    if (result == 0 && a[2] == MADV_REMOVE) log_removed(machine, a[0], guest::page_up(a[0] + a[1]));
    partial.op = trace::MapOp::advise;
    partial.flags = static_cast<uint32_t>(a[2]);
    break;
  case MappingChange::move:
    if (result >= 0) log_moved(machine, call, static_cast<uint64_t>(result));
    return;
  default:
    return;
  }
  guest::AddressSpace::Range done = machine.space().take_done_before_failure();
  if (done.begin == done.end) return;
  partial.address = GuestAddr(done.begin);
  partial.length = done.end - done.begin;
  check(log_.append(machine.current().id, machine.now(), partial));
  if (partial.op != trace::MapOp::advise) return;
  log_foreign(machine, done.begin, done.end);
  if (a[2] == MADV_REMOVE) log_removed(machine, done.begin, done.end);
}

// The files of these mappings have a hole now, which their other mappings show.
void Recorder::log_removed(guest::Machine& machine, uint64_t begin, uint64_t end) {
  for (const auto& [key, mapping] : machine.space().mappings()) {
    uint64_t from = std::max(mapping.begin, begin);
    uint64_t to = std::min(mapping.end, end);
    if (from >= to || mapping.flags & MAP_ANONYMOUS) continue;
    uint64_t offset = mapping.offset + (from - mapping.begin);
    log_file_part(machine, {mapping.device, mapping.inode, offset, offset + (to - from)}, mapping.begin);
  }
}

// All that the mappings of a part of a file hold, but for the one that begins here.
void Recorder::log_file_part(guest::Machine& machine, const trace::FilePart& part, uint64_t but) {
  for (const auto& [key, mapping] : machine.space().mappings()) {
    bool same = mapping.inode == part.inode && mapping.device == part.device;
    // What processes share since a fork is logged when they take its pages.
    if (!same || mapping.flags & MAP_ANONYMOUS || mapping.begin == but || shared_.family(mapping.begin) != 0)
      continue;
    uint64_t from = std::max(guest::page_down(part.begin), mapping.offset);
    uint64_t to = std::min(part.end, mapping.offset + (mapping.end - mapping.begin));
    if (from >= to) continue;
    uint64_t begin = mapping.begin + (from - mapping.offset);
    uint64_t end = guest::page_up(mapping.begin + (to - mapping.offset));
    log_anew(machine, begin, end);
    machine.space().forget_code(begin, end);
  }
}

// Other processes may have the file mapped that MADV_REMOVE is about to make a hole in.
void Recorder::on_memory_call(guest::Machine& machine, const guest::SystemCall& call) {
  if (call.number != SYS_madvise || call.arguments[2] != MADV_REMOVE) return;
  const guest::Mapping* mapping = machine.space().find(call.arguments[0]);
  if (mapping == nullptr || mapping->flags & MAP_ANONYMOUS) return;
  if (!change_notice_.begin(mapping->device, mapping->inode)) return;
  removal_ = trace::FilePart{mapping->device, mapping->inode, 0, UINT64_MAX};
  if (call.arguments[0] + call.arguments[1] <= mapping->end) return;
  end_removal();
  limit("MADV_REMOVE at {:#x} of several mappings, of files that other recorded processes have mapped",
        call.arguments[0]);
}

void Recorder::end_removal() {
  std::optional<trace::FilePart> part = std::exchange(removal_, std::nullopt);
  if (part) change_notice_.end(part->device, part->inode, {part->begin, part->end});
}

// Where replay has zeroes and this process may have something else: in memory that is not only its own.
void Recorder::log_foreign(guest::Machine& machine, uint64_t begin, uint64_t end) {
  for (const auto& [key, mapping] : machine.space().mappings())
    if (!guest::is_own(mapping))
      log_pages(machine, std::max(mapping.begin, begin), std::min(mapping.end, end));
}

// Where memory of a file has become larger, or was moved away from, replay has zeroes.
void Recorder::log_moved(guest::Machine& machine, const guest::SystemCall& call, uint64_t target) {
  const SyscallArgs& a = call.arguments;
  uint64_t old_length = guest::page_up(a[1]);
  uint64_t new_length = guest::page_up(a[2]);
  if (new_length > old_length) log_foreign(machine, target + old_length, target + new_length);
  if (a[3] & MREMAP_DONTUNMAP) log_foreign(machine, a[0], a[0] + old_length);
}

// Other processes may have changed files that this one has mapped: it waits until they have, then logs what
// its memory holds there now.
void Recorder::take_file_changes(guest::Machine& machine) {
  constexpr unsigned kWatchfulRuns = 100;
  // While this process asks for what has changed, it sleeps, and the next change may begin.
  while (log_.is_disturbed()) {
    watchful_runs_ = kWatchfulRuns;
    log_.wait_for_file_changes();
    trace::FilePart part;
    while (log_.take_file_change(part)) {
      log_file_part(machine, part, UINT64_MAX);
      shared_.file_changed(machine, part);
    }
    outside_writers_.skip_own(); // it was no program outside
  }
}

// When the kernel writes the last page of a file to disk, it clears what the program has put there after the
// file's end.
void Recorder::log_last_pages(guest::Machine& machine) {
  guest::AddressSpace& space = machine.space();
  for (const auto& [begin, mapping] : space.mappings()) {
    bool can_be = mapping.flags & MAP_SHARED && !(mapping.flags & MAP_ANONYMOUS) && mapping.may_write;
    if (!can_be || mapping.segment || shared_.family(begin) != 0) continue;
    uint64_t end = space.end_of_content(mapping, begin, mapping.end);
    if (end == begin) continue;
    uint8_t page[kPage];
    GuestAddr last(guest::page_down(end - 1));
    if (space.peek(last, page, kPage) == kPage) on_memory_write(machine, last, page, kPage);
  }
}

// The page with the end of a file may hold something after it, which an earlier mapping has written there:
// the copy of the file in the trace does not have it.
void Recorder::log_after_end(guest::Machine& machine, const guest::Mapping& mapping, int fd) {
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) return;
  auto size = static_cast<uint64_t>(info.st_size);
  if (size % kPage == 0 || size < mapping.offset || size - mapping.offset >= mapping.end - mapping.begin)
    return;
  GuestAddr end(mapping.begin + (size - mapping.offset));
  uint8_t bytes[kPage];
  size_t rest = machine.space().peek(end, bytes, kPage - size % kPage);
  bool is_zero = std::all_of(bytes, bytes + rest, [](uint8_t byte) { return byte == 0; });
  if (!is_zero) on_memory_write(machine, end, bytes, rest);
}

// All that memory of a file holds now, which may be little.
void Recorder::log_anew(guest::Machine& machine, uint64_t begin, uint64_t end) {
  trace::MapInput drop;
  drop.op = trace::MapOp::advise;
  drop.address = GuestAddr(begin);
  drop.length = end - begin;
  drop.flags = MADV_DONTNEED;
  check(log_.append(machine.current().id, machine.now(), drop));
  log_foreign(machine, begin, end);
}

// What they hold now, as far as they can be read and are not zero.
void Recorder::log_pages(guest::Machine& machine, uint64_t begin, uint64_t end) {
  guest::AddressSpace& space = machine.space();
  while (begin < end) {
    const guest::Mapping* mapping = space.find(begin);
    if (mapping == nullptr) return;
    uint64_t stop = std::min(end, mapping->end);
    guest::PossiblePages possible(*mapping);
    guest::ReadableMeanwhile readable(*mapping, begin, stop);
    for (uint64_t page = possible.next(begin); page < stop; page = possible.next(page + kPage)) {
      uint8_t bytes[kPage];
      // After the end of a file nothing can be read.
      if (space.read(GuestAddr(page), bytes, kPage) != kPage) break;
      bool is_zero = bytes[0] == 0 && std::memcmp(bytes, bytes + 1, kPage - 1) == 0;
      if (!is_zero) on_memory_write(machine, GuestAddr(page), bytes, kPage);
    }
    begin = stop;
  }
  outside_writers_.skip_own();
}

} // namespace rdb::record
