// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What debug code and its libraries write to the guest's memory: kept before it happens, where that is known,
// or noticed when it does.
#include "rdbtool/base/error.h"
#include "rdbtool/debug/debug_session.h"
#include "rdbtool/debug/isolation/nested_call.h"
#include "rdbtool/guest/memory/host_place.h"

#include <algorithm>
#include <array>
#include <sys/mman.h>
#include <ucontext.h>

namespace rdb::debug {

void NestedCalls::keep_for_debug_code(const void* address, unsigned long size) {
  if (!can_abort_debug_code() || DebugSession::current()->nested_calls == nullptr)
    abort_debug_code("debug code wrote to the program's memory before the program runs");
  DebugSession::current()->nested_calls->keep(reinterpret_cast<uint64_t>(address), size);
}

void NestedCalls::keep(uint64_t begin, uint64_t size) {
  if (!used_) begin_use();
  const uint64_t end = begin + guest::size_before_host(begin, size);
  if (nested_.own_code().contains(begin)) return log_.keep(begin, end - begin);
  while (begin < end) {
    const guest::Mapping* mapping = machine_.space().find(begin);
    // What cannot be written to needs no undoing; debug code is told by a fault.
    if (mapping == nullptr || !(mapping->protection & PROT_WRITE)) return;
    uint64_t until = std::min(end, mapping->end);
    log_.keep(begin, until - begin);
    begin = until;
  }
}

void NestedCalls::guard() {
  if (!used_) begin_use();
  guard_.protect();
}

void NestedCalls::guard_for_debug_code() {
  if (!can_abort_debug_code()) return;
  if (NestedCalls* calls = DebugSession::current()->nested_calls) calls->guard();
}

// Lets the pages be written to that are withheld.
void NestedCalls::open(uint64_t begin, uint64_t end) {
  for (uint64_t page = guest::page_down(begin); page < end; page += guest::kPage) {
    if (!guard_.is_withheld(page)) continue;
    log_.keep(page, guest::kPage);
    guard_.open(page);
  }
}

bool NestedCalls::notice_write(uint64_t address, void* context) {
  if (running_) return false;
  // Of what debug code writes itself the old bytes are kept by now: only the translations must go.
  if (!guard_.is_read_only())
    return !guest::is_host(address) && machine_.space().release_code_page(GuestAddr(address));
  if (!guard_.is_withheld(guest::page_down(address))) return false;
  guard_.note(address, context);
  open(address, address + 1);
  return true;
}

void NestedCalls::fill_for_debug_code(const void* address, unsigned long size) {
  keep_for_debug_code(address, size);
  DebugSession::current()->nested_calls->fill(reinterpret_cast<uint64_t>(address), size);
}

void NestedCalls::fill(uint64_t begin, uint64_t size) {
  if (!guard_.is_read_only()) return;
  ucontext_t here;
  getcontext(&here);
  guard_.note(begin, &here);
  open(begin, begin + guest::size_before_host(begin, size));
}

bool NestedCalls::begin_watch(const CallFrame& frame) {
  constexpr size_t kMostWords = 12;
  constexpr uint64_t kMostFilled = 64u << 20;
  std::array<uint64_t, sizeof frame.integer / sizeof(uint64_t) + kMostWords> pointer_room, number_room;
  size_t pointer_count = 0, number_count = 0;
  auto sort = [&](uint64_t value) {
    const guest::Mapping* mapping =
        value >= guest::kPage && !guest::is_host(value) ? machine_.space().find(value) : nullptr;
    if (mapping == nullptr)
      number_room[number_count++] = value;
    else if (mapping->protection & PROT_WRITE)
      pointer_room[pointer_count++] = value;
  };
  std::for_each(std::begin(frame.integer), std::end(frame.integer), sort);
  std::for_each_n(frame.stack_arguments, std::min<size_t>(frame.stack_size / sizeof(uint64_t), kMostWords),
                  sort);
  std::span pointers(pointer_room.data(), pointer_count), numbers(number_room.data(), number_count);
  if (pointers.empty() && !frame.is_always_watched) return false;
  guard();
  ++watched_;
  // The kernel cannot write to what is withheld, and who asks it to says how much in another argument, as a
  // rule.
  for (uint64_t begin : pointers) {
    uint64_t room = machine_.space().find(begin)->end - begin;
    uint64_t size = guest::kPage;
    for (uint64_t number : numbers)
      if (number <= std::min(room, kMostFilled)) size = std::max(size, number);
    size = std::min(size, room);
    if (guard_.reports()) {
      const auto* bytes = reinterpret_cast<const std::byte*>(begin);
      found_.emplace_back(begin, std::vector<std::byte>(bytes, bytes + size));
    }
    open(begin, begin + size);
  }
  return true;
}

void NestedCalls::end_watch() {
  --watched_;
  for (const auto& [begin, bytes] : std::exchange(found_, {})) {
    auto changed = std::mismatch(bytes.begin(), bytes.end(), reinterpret_cast<const std::byte*>(begin)).first;
    if (changed == bytes.end()) continue;
    ucontext_t here;
    getcontext(&here);
    guard_.note(begin + static_cast<uint64_t>(changed - bytes.begin()), &here);
  }
}

} // namespace rdb::debug
