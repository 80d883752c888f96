// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A small hash table keyed by addresses: one array, no allocation per entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

template <typename Key, typename Value>
class PointerMap {
public:
  struct Entry {
    const Key* key = nullptr; // null: the slot is free
    Value value = {};
  };

  PointerMap() : entries_(kFirstSize) {}

  // The key's value, made if it has none. Other values move when the table grows.
  Value& operator[](const Key* key) {
    Entry* entry = &slot_of(key);
    if (!entry->key) {
      if (++used_ * 4 > entries_.size() * 3) {
        grow();
        entry = &slot_of(key);
      }
      entry->key = key;
    }
    return entry->value;
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

private:
  static constexpr size_t kFirstSize = 61;

  // Where the key is, or where it would be.
  Entry& slot_of(const Key* key) {
    size_t slot = reinterpret_cast<uintptr_t>(key) / 16 % entries_.size();
    while (entries_[slot].key && entries_[slot].key != key)
      slot = (slot + 1) % entries_.size();
    return entries_[slot];
  }

  void grow() {
    std::vector<Entry> old(entries_.size() * 2 + 1);
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.key) slot_of(entry.key) = entry;
  }

  size_t used_ = 0;
  std::vector<Entry> entries_;
};
