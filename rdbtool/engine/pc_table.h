// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Guest address -> block, open addressing. Looked up at every miss and for every translated branch, so it is
// flat and small, and neighbours among the addresses are neighbours in the table: most of the time that a
// look-up in a large table takes is waiting for memory.
#pragma once

#include "rdbtool/engine/arena.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace rdb::engine {

// `kSpread`: of 2^kSpread neighbouring addresses about one is used.
template <class T, unsigned kSpread = 2>
class PcTable {
public:
  PcTable() { clear(); }

  T* find(uint64_t pc) const {
    for (size_t i = slot(pc);; i = (i + 1) & mask_) {
      if (entries_[i].key == pc + 1) return entries_[i].value;
      if (entries_[i].key == 0) return nullptr;
    }
  }

  // A null value erases.
  void set(uint64_t pc, T* value) {
    if ((used_ + 1) * 2 > size()) grow();
    size_t i = slot(pc);
    while (entries_[i].key != 0 && entries_[i].key != pc + 1)
      i = (i + 1) & mask_;
    if (entries_[i].key == 0) {
      if (value == nullptr) return;
      ++used_;
    }
    entries_[i] = {pc + 1, value};
  }

  // Every entry as (pc, value); the function must not change the table.
  template <class F>
  void for_each(F&& function) const {
    for (size_t i = 0; i < size(); ++i)
      if (entries_[i].value) function(entries_[i].key - 1, entries_[i].value);
  }

  void clear() { allocate(kSmallest); }

private:
  static constexpr size_t kSmallest = 1024;

  struct Slot {
    uint64_t key; // the address + 1; 0: free
    T* value;     // null: erased
  };
  struct Free {
    void operator()(Slot* entries) const { std::free(entries); }
  };

  size_t size() const { return mask_ + 1; }

  // Each 65,536 addresses stay together.
  size_t slot(uint64_t pc) const {
    return static_cast<size_t>((pc >> kSpread) + (pc >> 16) * 0x9E3779B97F4A7C15ull) & mask_;
  }

  void allocate(size_t size) {
    // Large ones come from the kernel, which clears them where they are used.
    entries_.reset(static_cast<Slot*>(std::calloc(size, sizeof(Slot))));
    if (!entries_) no_memory_for_code();
    mask_ = size - 1;
    used_ = 0;
  }

  void grow() {
    size_t live = 0;
    for_each([&](uint64_t, T*) { ++live; });
    size_t wanted = kSmallest;
    while (wanted < (live + 1) * 4)
      wanted *= 2;
    std::unique_ptr<Slot[], Free> old = std::move(entries_);
    const size_t old_size = size();
    allocate(wanted);
    for (size_t i = 0; i < old_size; ++i)
      if (old[i].value) set(old[i].key - 1, old[i].value);
  }

  std::unique_ptr<Slot[], Free> entries_;
  size_t mask_ = 0;
  size_t used_ = 0;
};

} // namespace rdb::engine
