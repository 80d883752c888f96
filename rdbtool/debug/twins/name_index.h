// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers by name, several of one name, for tables of a hundred thousand symbols that are built at the start
// of a replay: two arrays instead of a node for each. The names must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace rdb::debug {

class NameIndex {
public:
  void add(std::string_view name, uint32_t number) {
    if (entries_.size() >= heads_.size()) grow();
    entries_.push_back({name, number, kNone});
    link(static_cast<uint32_t>(entries_.size() - 1));
  }

  // Calls `each` with the numbers that were added under this name, the last one first.
  template <class F>
  void find(std::string_view name, F&& each) const {
    if (heads_.empty()) return;
    for (uint32_t at = heads_[bucket(name)]; at != kNone; at = entries_[at].next)
      if (entries_[at].name == name) each(entries_[at].number);
  }

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Entry {
    std::string_view name;
    uint32_t number;
    uint32_t next;
  };

  size_t bucket(std::string_view name) const {
    return std::hash<std::string_view>()(name) & (heads_.size() - 1);
  }
  void link(uint32_t at) {
    uint32_t& head = heads_[bucket(entries_[at].name)];
    entries_[at].next = head;
    head = at;
  }
  void grow() {
    heads_.assign(heads_.empty() ? 64 : heads_.size() * 4, kNone);
    for (uint32_t i = 0; i < entries_.size(); ++i)
      link(i);
  }

  std::vector<uint32_t> heads_;
  std::vector<Entry> entries_;
};

} // namespace rdb::debug
