// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Guest address -> block, open addressing. Looked up at every miss and for every translated branch, so it is
// flat and small; a general map costs half of the translation time.
#pragma once

#include <cstdint>
#include <vector>

namespace rdb::engine {

template <class T>
class PcTable {
public:
  PcTable() { clear(); }

  T* find(uint64_t pc) const {
    for (size_t i = slot(pc);; i = (i + 1) & mask_) {
      if (entries_[i].value == nullptr && !entries_[i].used) return nullptr;
      if (entries_[i].pc == pc && entries_[i].used) return entries_[i].value;
    }
  }

  // A null value erases.
  void set(uint64_t pc, T* value) {
    if ((used_ + 1) * 2 > entries_.size()) grow();
    size_t i = slot(pc);
    while (entries_[i].used && entries_[i].pc != pc)
      i = (i + 1) & mask_;
    if (!entries_[i].used) {
      if (value == nullptr) return;
      ++used_;
    }
    entries_[i] = {pc, value, true};
  }

  // Every entry as (pc, value); the function must not change the table.
  template <class F>
  void for_each(F&& function) const {
    for (const Entry& e : entries_)
      if (e.value) function(e.pc, e.value);
  }

  void clear() {
    entries_.assign(1024, {});
    mask_ = entries_.size() - 1;
    used_ = 0;
  }

private:
  struct Entry {
    uint64_t pc = 0;
    T* value = nullptr;
    bool used = false;
  };

  size_t slot(uint64_t pc) const { return static_cast<size_t>(pc * 0x9E3779B97F4A7C15ull >> 20) & mask_; }

  void grow() {
    std::vector<Entry> old;
    old.swap(entries_);
    size_t live = 0;
    for (const Entry& e : old)
      live += e.value != nullptr;
    size_t size = 1024;
    while (size < (live + 1) * 4)
      size *= 2;
    entries_.assign(size, {});
    mask_ = size - 1;
    used_ = 0;
    for (const Entry& e : old)
      if (e.value) set(e.pc, e.value);
  }

  std::vector<Entry> entries_;
  size_t mask_ = 0;
  size_t used_ = 0;
};

} // namespace rdb::engine
