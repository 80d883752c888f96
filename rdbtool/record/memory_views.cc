// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared memory that the process maps at several places, one of them writable. Here that is real; a replay
// has private memory in its place, in which a store through one mapping does not show in another. So the log
// names the object, and the replay makes one memory file for all its views: see guest/memory/object_views.h.
#include "rdbtool/base/error.h"
#include "rdbtool/guest/memory/object_views.h"
#include "rdbtool/record/log_check.h"
#include "rdbtool/record/recorder.h"

#include <algorithm>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::record {
namespace {

bool shows_writes(const guest::Mapping& mapping) {
  return mapping.flags & MAP_SHARED && mapping.protection & PROT_WRITE;
}

// What can be one of several views: shared memory of a file. Segments and memory without a name cannot.
bool can_be_view(const guest::Mapping& mapping) {
  return mapping.flags & MAP_SHARED && !(mapping.flags & MAP_ANONYMOUS) && !mapping.segment;
}

std::vector<guest::Mapping> other_mappings(const guest::AddressSpace& space, const guest::Mapping& of) {
  std::vector<guest::Mapping> result;
  for (const auto& [begin, other] : space.mappings())
    if (begin != of.begin && other.inode == of.inode && other.device == of.device) result.push_back(other);
  return result;
}

[[noreturn]] void refuse(const guest::Mapping& mapping, bool with_private) {
  if (with_private) limit("a private mapping of {} beside a shared one that is writable", mapping.name);
  limit("two shared mappings of {}, one of them writable",
        mapping.name.empty() ? "the same memory" : mapping.name);
}

} // namespace

void Recorder::log_view(guest::Machine& machine, trace::MapOp op, const guest::Mapping& mapping,
                        uint64_t object) {
  trace::MapInput map;
  map.op = op;
  map.protection = static_cast<uint8_t>(mapping.protection);
  map.flags = static_cast<uint32_t>(mapping.flags);
  map.address = GuestAddr(mapping.begin);
  map.length = mapping.end - mapping.begin;
  map.object = object;
  map.offset = mapping.offset;
  map.path = mapping.name;
  check(log_.append(machine.current().id, machine.now(), map));
}

// The object of these mappings: they become its views, if they are not yet.
uint64_t Recorder::object_of(guest::Machine& machine, const std::vector<guest::Mapping>& mappings) {
  const guest::Mapping& first = mappings.front();
  auto [known, fresh] = objects_.try_emplace({first.device, first.inode}, objects_.size() + 1);
  if (fresh)
    for (const guest::Mapping& mapping : mappings)
      log_view(machine, trace::MapOp::share, mapping, known->second);
  return known->second;
}

bool Recorder::log_as_view(guest::Machine& machine, const guest::Mapping& mapping) {
  const std::vector<guest::Mapping> others = other_mappings(machine.space(), mapping);
  const bool written = shows_writes(mapping) || std::ranges::any_of(others, shows_writes);
  if (others.empty() || !written) {
    // What it was before is of no importance: the log has its whole file.
    if (others.empty()) objects_.erase({mapping.device, mapping.inode});
    return false;
  }
  const bool all = can_be_view(mapping) && std::ranges::all_of(others, can_be_view);
  const bool with_private =
      !(mapping.flags & MAP_SHARED) ||
      !std::ranges::all_of(others, [](const auto& one) { return one.flags & MAP_SHARED; });
  if (!all) refuse(mapping, with_private);
  if (shared_.any()) limit("memory of {} at several places, in processes that share memory", mapping.name);
  const uint64_t object = object_of(machine, others);
  log_view(machine, trace::MapOp::view, mapping, object);
  const uint64_t end = mapping.offset + (mapping.end - mapping.begin);
  for (const guest::AddressRange& part : guest::parts_without_view(others, mapping.offset, end)) {
    const uint64_t begin = mapping.begin + (part.begin - mapping.offset);
    log_pages(machine, begin, begin + (part.end - part.begin));
  }
  return true;
}

// Mappings that have become writable may be seen elsewhere. Parts of what was one mapping do not count.
void Recorder::join_protected(guest::Machine& machine, const guest::SystemCall& call) {
  bool protects = call.number == SYS_mprotect || call.number == SYS_pkey_mprotect;
  if (!protects || !(call.arguments[2] & PROT_WRITE)) return;
  const uint64_t begin = call.arguments[0];
  const uint64_t end = begin + guest::page_up(call.arguments[1]);
  for (const auto& [key, mapping] : machine.space().mappings())
    if (mapping.end > begin && mapping.begin < end && !(mapping.flags & MAP_ANONYMOUS) &&
        mapping.flags & MAP_SHARED)
      join_same_part(machine, mapping);
}

void Recorder::join_same_part(guest::Machine& machine, const guest::Mapping& mapping) {
  if (objects_.contains({mapping.device, mapping.inode})) return;
  std::vector<guest::Mapping> views = other_mappings(machine.space(), mapping);
  const bool written = shows_writes(mapping) || std::ranges::any_of(views, shows_writes);
  const uint64_t end = mapping.offset + (mapping.end - mapping.begin);
  const bool overlap = std::ranges::any_of(views, [&](const guest::Mapping& other) {
    return mapping.offset < other.offset + (other.end - other.begin) && other.offset < end;
  });
  if (!written || !overlap) return;
  views.push_back(mapping);
  if (!std::ranges::all_of(views, can_be_view))
    refuse(mapping, std::ranges::any_of(views, [](const auto& one) { return one.flags & MAP_PRIVATE; }));
  object_of(machine, views);
}

bool Recorder::is_view(const guest::Mapping& mapping) const {
  return can_be_view(mapping) && objects_.contains({mapping.device, mapping.inode});
}

// Each process would have views of its own, and pages cannot be handed over through all of them.
void Recorder::refuse_fork_with_views(const guest::AddressSpace& space) const {
  for (const auto& [begin, mapping] : space.mappings())
    if (is_view(mapping))
      limit("a process that forks and has {} mapped at several places, one of them writable", mapping.name);
}

} // namespace rdb::record
