// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/undo_log.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/own_memory.h"
#include "rdbtool/debug/isolation/abort_debug_code.h"
#include "rdbtool/guest/memory/host_place.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

// An instruction may write this many entries.
constexpr size_t kEntriesAnInstruction = 8;
constexpr size_t kLogEntries = 40u << 20;
constexpr size_t kLogKept = 1u << 20; // bytes of it that stay in memory

} // namespace

void* reserve(size_t size) {
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) limit("no memory for calls into the program ({})", std::strerror(errno));
  return memory;
}

UndoLog::UndoLog(engine::Translator& engine, guest::AddressSpace& space)
    : engine_(engine), space_(space),
      log_(static_cast<engine::StoreLogEntry*>(reserve(kLogEntries * sizeof(engine::StoreLogEntry))),
           kLogEntries) {
  engine_.set_store_log(log_);
}

UndoLog::~UndoLog() {
  munmap(log_.data(), log_.size_bytes());
}

bool UndoLog::has_room_for_slice() const {
  auto room = static_cast<size_t>(log_.data() + log_.size() - engine_.store_log_end());
  return room >= (kSlice + 1024) * kEntriesAnInstruction;
}

void UndoLog::undo() {
  bool has_code_pages = space_.has_code_pages();
  for (engine::StoreLogEntry* entry = engine_.store_log_end(); entry-- > log_.data();) {
    // The debug code's own memory, and the stack of nested calls.
    if (guest::is_host(entry->address)) continue;
    // Not there any more soon, and perhaps read-only.
    if (!mapped_.empty() && is_own(entry->address, entry->size)) continue;
    if (has_code_pages)
      space_.write(GuestAddr(entry->address), &entry->old, entry->size);
    else
      std::memcpy(reinterpret_cast<void*>(entry->address), &entry->old, entry->size);
  }
  for (auto [begin, size] : mapped_)
    space_.munmap(begin, size);
  mapped_.clear();
  size_t used = static_cast<size_t>(engine_.store_log_end() - log_.data()) * sizeof(engine::StoreLogEntry);
  if (used > kLogKept) madvise(log_.data(), used, MADV_DONTNEED);
  engine_.set_store_log(log_);
}

bool UndoLog::is_own(uint64_t address, uint64_t size) const {
  return std::any_of(mapped_.begin(), mapped_.end(), [&](const std::pair<uint64_t, uint64_t>& block) {
    return address >= block.first && size <= block.second && address - block.first <= block.second - size;
  });
}

void UndoLog::keep(uint64_t address, uint64_t size) {
  if (guest::is_host(address) || is_own(address, size)) return;
  engine::StoreLogEntry* entry = engine_.store_log_end();
  engine::StoreLogEntry* end = log_.data() + log_.size();
  if (static_cast<uint64_t>(end - entry) < size / sizeof entry->old + kSlice)
    abort_debug_code("more memory of the program is to change than can be undone");
  bool is_plain = space_.is_plain(address, size);
  std::byte bytes[4096];
  for (uint64_t done = 0; done < size;) {
    size_t some = std::min<uint64_t>(size - done, sizeof bytes);
    GuestAddr from(address + done);
    if (is_plain)
      std::memcpy(bytes, from.ptr(), some);
    else
      some = space_.read(from, bytes, some);
    if (some == 0) break;
    for (size_t at = 0; at < some; at += sizeof entry->old, ++entry) {
      auto part = static_cast<uint16_t>(std::min(some - at, sizeof entry->old));
      *entry = {from.value + at, part, engine::StoreLogEntry::Kind::store, 0, 0};
      std::memcpy(&entry->old, bytes + at, part);
    }
    done += some;
  }
  engine_.set_store_log({entry, end});
}

bool UndoLog::store(uint64_t address, const void* bytes, size_t size) {
  if (!guest::is_host(address)) {
    keep(address, size);
    return space_.write(GuestAddr(address), bytes, size) == size;
  }
  return write_own_memory(reinterpret_cast<void*>(address), bytes, size) == size;
}

} // namespace rdb::debug
