// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The old bytes of everything that changes in the program's memory while debug code runs. The second engine
// logs those that guest functions overwrite; before any other write they are added by keep(). Played
// backwards the log leaves the memory as it was: where something was written twice, the oldest bytes come
// last.
#pragma once

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
  UndoLog(engine::Translator& engine, guest::AddressSpace& space);
  ~UndoLog();
  UndoLog(const UndoLog&) = delete;
  UndoLog& operator=(const UndoLog&) = delete;

  bool has_room_for_slice() const;
  // Whatever is written to this memory is undone.
  void keep(uint64_t address, uint64_t size);
  // Writes as a guest function does, for the system call that it makes. False: there is no such memory.
  bool store(uint64_t address, const void* bytes, size_t size);

  // Memory that was mapped for the guest functions: it is gone afterwards.
  void add_mapping(uint64_t begin, uint64_t size) { mapped_.emplace_back(begin, size); }
  bool is_own(uint64_t address, uint64_t size) const;

  void undo();

private:
  engine::Translator& engine_;
  guest::AddressSpace& space_;
  std::span<engine::StoreLogEntry> log_;
  std::vector<std::pair<uint64_t, uint64_t>> mapped_;
};

} // namespace rdb::debug
