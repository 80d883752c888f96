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

  explicit PointerMap(size_t slots) : entries_(slots) {}

  Value& operator[](const Key* key) {
    size_t slot = reinterpret_cast<uintptr_t>(key) / 16 % entries_.size();
    while (entries_[slot].key && entries_[slot].key != key)
      slot = (slot + 1) % entries_.size();
    entries_[slot].key = key;
    return entries_[slot].value;
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

private:
  std::vector<Entry> entries_;
};
