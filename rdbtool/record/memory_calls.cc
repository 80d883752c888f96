// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What calls do to memory that a replay, which has private memory in the place of shared memory and copies of
// files, would not find out by itself.
#include "rdbtool/base/error.h"
#include "rdbtool/record/file_holes.h"
#include "rdbtool/record/recorder.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::record {

using guest::kPage;

namespace {

bool is_own(const guest::Mapping& mapping) {
  return mapping.flags & MAP_ANONYMOUS && mapping.flags & MAP_PRIVATE;
}

} // namespace

void Recorder::called(guest::Process& process, const guest::SystemCall& call, int64_t result) {
  check_moved(process, call, result);
  shared_.mappings_changed(process.space(), call, result);
  if (shared_files_.any() && changes_mappings(call.number))
    shared_files_.tell(process.space(), shared_, log_);
  if (outside_writers_.any() && changes_mappings(call.number))
    outside_writers_.mappings_changed(process.space());
  log_call(process, call, result, {});
  log_memory_effects(process, call, result);
}

void Recorder::remapped(guest::Process& process, const guest::SystemCall& call, int64_t result) {
  const SyscallArgs& a = call.arguments;
  shared_.mappings_changed(process.space(), call, result);
  trace::MapInput map;
  map.address = GuestAddr(a[0]);
  map.length = a[1];
  switch (call.number) {
  case SYS_mmap:
    log_mapping(process, *process.space().find(static_cast<uint64_t>(result)), -1);
    return;
  case SYS_munmap:
    map.op = trace::MapOp::kUnmap;
    break;
  case SYS_shmdt:
    limit("a child by vfork that detaches a System V segment (shmdt of {:#x})", a[0]);
  case SYS_mprotect:
  case SYS_pkey_mprotect:
    map.op = trace::MapOp::kProtect;
    map.protection = a[2] & (PROT_READ | PROT_WRITE | PROT_EXEC);
    break;
  case SYS_mremap:
    map.op = trace::MapOp::kRemap;
    map.old_address = GuestAddr(a[0]);
    map.old_length = a[1];
    map.address = GuestAddr(static_cast<uint64_t>(result));
    map.length = a[2];
    map.flags = static_cast<uint32_t>(a[3]);
    break;
  case SYS_madvise:
    map.op = trace::MapOp::kAdvise;
    map.flags = static_cast<uint32_t>(a[2]);
    break;
  case SYS_brk:
    map.op = trace::MapOp::kBreak;
    map.length = 0;
    break;
  default:
    bug("memory call {} is not known", call.number);
  }
  check(log_.append(process.current().id, process.now(), map));
  log_memory_effects(process, call, result);
}

// Memory that is there twice after mremap must not be written to in one place: replay would not show it in
// the other.
void Recorder::check_moved(guest::Process& process, const guest::SystemCall& call, int64_t result) {
  const SyscallArgs& a = call.arguments;
  bool twice = call.number == SYS_mremap && result >= 0 && (a[1] == 0 || a[3] & MREMAP_DONTUNMAP);
  if (!twice) return;
  const guest::Mapping& mapping = *process.space().find(static_cast<uint64_t>(result));
  bool writable = mapping.protection & PROT_WRITE || mapping.may_write || mapping.flags & MAP_ANONYMOUS;
  if (mapping.flags & MAP_SHARED && writable)
    limit("two shared mappings of {}, one of them writable",
          mapping.name.empty() ? "the same memory" : mapping.name);
}

void Recorder::log_memory_effects(guest::Process& process, const guest::SystemCall& call, int64_t result) {
  const SyscallArgs& a = call.arguments;
  trace::MapInput partial;
  switch (call.number) {
  case SYS_mprotect:
  case SYS_pkey_mprotect:
    partial.op = trace::MapOp::kProtect;
    partial.protection = a[2] & (PROT_READ | PROT_WRITE | PROT_EXEC);
    break;
  case SYS_madvise:
    if (!guest::drops_pages(static_cast<int>(a[2]))) return;
    if (result == 0) log_dropped_pages(process, a[0], guest::page_up(a[0] + a[1]));
    partial.op = trace::MapOp::kAdvise;
    partial.flags = static_cast<uint32_t>(a[2]);
    break;
  case SYS_mremap:
    if (result >= 0) log_moved(process, call, static_cast<uint64_t>(result));
    return;
  default:
    return;
  }
  guest::AddressSpace::Range done = process.space().take_done_before_failure();
  if (done.begin == done.end) return;
  partial.address = GuestAddr(done.begin);
  partial.length = done.end - done.begin;
  check(log_.append(process.current().id, process.now(), partial));
  if (partial.op == trace::MapOp::kAdvise) log_dropped_pages(process, done.begin, done.end);
}

// Where pages are dropped, replay does not find again what was found here.
void Recorder::log_dropped_pages(guest::Process& process, uint64_t begin, uint64_t end) {
  for (const auto& [key, mapping] : process.space().mappings())
    if (!is_own(mapping))
      log_pages(process, std::max(mapping.begin, begin), std::min(mapping.end, end), Pages::all);
}

// Where memory of a file has become larger, replay has zeroes.
void Recorder::log_moved(guest::Process& process, const guest::SystemCall& call, uint64_t target) {
  const SyscallArgs& a = call.arguments;
  uint64_t old_length = guest::page_up(a[1]);
  uint64_t new_length = guest::page_up(a[2]);
  if (is_own(*process.space().find(target))) return;
  if (new_length > old_length) log_pages(process, target + old_length, target + new_length, Pages::not_zero);
  if (a[3] & MREMAP_DONTUNMAP) log_pages(process, a[0], a[0] + old_length, Pages::all);
}

// What they hold now, as far as they can be read.
void Recorder::log_pages(guest::Process& process, uint64_t begin, uint64_t end, Pages which) {
  guest::AddressSpace& space = process.space();
  while (begin < end) {
    const guest::Mapping* mapping = space.find(begin);
    if (mapping == nullptr) return;
    uint64_t stop = std::min(end, mapping->end);
    FileHoles holes(*mapping);
    ReadableMeanwhile readable(*mapping, begin, stop);
    for (uint64_t page = begin; page < stop; page += kPage) {
      if (which == Pages::not_zero) page = std::min(stop, holes.next_data(page));
      uint8_t bytes[kPage];
      // Behind the end of a file nothing can be read.
      if (page == stop || space.read(GuestAddr(page), bytes, kPage) != kPage) break;
      bool is_zero = bytes[0] == 0 && std::memcmp(bytes, bytes + 1, kPage - 1) == 0;
      if (is_zero && which == Pages::not_zero) continue;
      wrote(process, GuestAddr(page), bytes, kPage);
    }
    begin = stop;
  }
  outside_writers_.skip_own();
}

} // namespace rdb::record
