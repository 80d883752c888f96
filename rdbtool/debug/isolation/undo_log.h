// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The old bytes of everything that changes in the program's memory while debug code runs. The second engine
// logs those that guest functions overwrite; before any other write they are added by keep(). Played
// backwards the log leaves the memory as it was: where something was written twice, the oldest bytes come
// last.
#pragma once

#include "rdbtool/debug/isolation/own_code.h"
#include "rdbtool/engine/translator.h"
#include "rdbtool/guest/memory/address_space.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rdb::debug {

// The engine runs as many instructions at a time as the log surely has room for.
inline constexpr uint64_t kSlice = 1u << 18;

// Memory that is there when it is used.
void* reserve(size_t size);

class UndoLog {
public:
  // `own_code`: memory that the space does not know, in which guest code may write as well.
  UndoLog(engine::Translator& engine, guest::AddressSpace& space, const OwnCode* own_code = nullptr);
  ~UndoLog();
  UndoLog(const UndoLog&) = delete;
  UndoLog& operator=(const UndoLog&) = delete;

  bool has_room_for_slice() const { return instructions_with_room() >= kSlice; }
  // As many may be executed before the log is full.
  uint64_t instructions_with_room() const;
  // Whatever is written to this memory is undone.
  void keep(uint64_t address, uint64_t size);
  // Writes as a guest function does, for the system call that it makes. False: there is no such memory.
  bool store(uint64_t address, const void* bytes, size_t size);

  // Memory that was mapped for the guest functions: it is gone afterwards.
  void add_mapping(uint64_t begin, uint64_t size) { mapped_.emplace_back(begin, size); }
  bool is_own(uint64_t address, uint64_t size) const;

  // A moment to go back to.
  struct Mark {
    size_t entries = 0;
    size_t mappings = 0;
  };
  Mark mark() const { return {entries().size(), mapped_.size()}; }
  // What has happened since then is undone. What is older stays, and stays in the log.
  void undo_to(const Mark& mark);
  void undo() { undo_to({}); }

  // Since the beginning, or the last undo().
  std::span<const engine::StoreLogEntry> entries() const {
    return {log_.data(), static_cast<size_t>(engine_.store_log_end() - log_.data())};
  }

  // Drops the others, which must not be needed to undo what they are about.
  template <class IsNeeded>
  void keep_if(IsNeeded is_needed) {
    const std::span used = log_.first(entries().size());
    size_t kept = 0;
    for (const engine::StoreLogEntry& entry : used)
      if (is_needed(entry)) log_[kept++] = entry;
    engine_.set_store_log(log_.subspan(kept));
  }

private:
  void put_back(const engine::StoreLogEntry& entry);
  bool is_in(std::span<const std::pair<uint64_t, uint64_t>> blocks, uint64_t address, uint64_t size) const;
  engine::Translator& engine_;
  guest::AddressSpace& space_;
  const OwnCode* own_code_;
  std::span<engine::StoreLogEntry> log_;
  std::vector<std::pair<uint64_t, uint64_t>> mapped_;
};

} // namespace rdb::debug
