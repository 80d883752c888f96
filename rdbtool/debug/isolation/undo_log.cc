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

constexpr size_t kSpare = 1024; // instructions
constexpr size_t kLogEntries = 40u << 20;
constexpr size_t kLogKept = 1u << 20; // bytes of it that stay in memory

} // namespace

void* reserve(size_t size) {
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) limit("no memory for calls into the program ({})", std::strerror(errno));
  return memory;
}

UndoLog::UndoLog(engine::Translator& engine, guest::AddressSpace& space, const OwnCode* own_code)
    : engine_(engine), space_(space), own_code_(own_code),
      log_(static_cast<engine::StoreLogEntry*>(reserve(kLogEntries * sizeof(engine::StoreLogEntry))),
           kLogEntries) {
  engine_.set_store_log(log_);
}

UndoLog::~UndoLog() {
  munmap(log_.data(), log_.size_bytes());
}

uint64_t UndoLog::instructions_with_room() const {
  const size_t room = (log_.size() - entries().size()) / engine::kMostLogEntries;
  return room > kSpare ? room - kSpare : 0;
}

// Where the old bytes are there still, the store may not have happened: it has faulted, and the memory is
// read-only.
void UndoLog::put_back(const engine::StoreLogEntry& entry) {
  auto* place = reinterpret_cast<void*>(entry.address);
  if (entry.size == sizeof entry.old) {
    uint64_t now;
    std::memcpy(&now, place, sizeof now);
    if (now == entry.old) return;
  } else if (std::memcmp(place, &entry.old, entry.size) == 0) {
    return;
  }
  const bool is_own_code = own_code_ != nullptr && own_code_->contains(entry.address);
  if (space_.has_code_pages() && !is_own_code)
    space_.write(GuestAddr(entry.address), &entry.old, entry.size);
  else
    std::memcpy(place, &entry.old, entry.size);
}

void UndoLog::undo_to(const Mark& mark) {
  const std::span fresh = std::span(mapped_).subspan(mark.mappings);
  engine::StoreLogEntry* first = log_.data() + mark.entries;
  const size_t used = entries().size_bytes();
  for (engine::StoreLogEntry* entry = engine_.store_log_end(); entry-- > first;) {
    if (entry->kind == engine::StoreLogEntry::Kind::load) continue;
    // The debug code's own memory, and the stack of nested calls.
    if (guest::is_host(entry->address)) continue;
    // Not there any more soon, and perhaps read-only.
    if (!fresh.empty() && is_in(fresh, entry->address, entry->size)) continue;
    put_back(*entry);
  }
  for (auto [begin, size] : fresh)
    space_.munmap(begin, size);
  mapped_.resize(mark.mappings);
  if (mark.entries == 0 && used > kLogKept) madvise(log_.data(), used, MADV_DONTNEED);
  engine_.set_store_log(log_.subspan(mark.entries));
}

bool UndoLog::is_own(uint64_t address, uint64_t size) const {
  return is_in(mapped_, address, size);
}

bool UndoLog::is_in(std::span<const std::pair<uint64_t, uint64_t>> blocks, uint64_t address,
                    uint64_t size) const {
  return std::any_of(blocks.begin(), blocks.end(), [&](const std::pair<uint64_t, uint64_t>& block) {
    return address >= block.first && size <= block.second && address - block.first <= block.second - size;
  });
}

void UndoLog::keep(uint64_t address, uint64_t size) {
  if (guest::is_host(address) || is_own(address, size)) return;
  engine::StoreLogEntry* entry = engine_.store_log_end();
  engine::StoreLogEntry* end = log_.data() + log_.size();
  if (static_cast<uint64_t>(end - entry) < size / sizeof entry->old + kSlice)
    abort_debug_code("more memory of the program is to change than can be undone");
  bool is_plain = space_.is_plain(address, size) || (own_code_ != nullptr && own_code_->contains(address));
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
