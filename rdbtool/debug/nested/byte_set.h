// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A set of bytes of memory, by address: what a run has written, or read.
//
// It is filled from a log of accesses, once for each, and asked for the ranges that they cover. A run may
// have five accesses or fifty million, and both must be cheap: so it is a bit for each byte, in pages that
// are found by a small hash table, of which the last one found is looked at first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdb::debug {

struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

class ByteSet {
public:
  ByteSet() : slots_(kFewestSlots, kNone) {}
  // Keeps its memory.
  void clear();
  bool empty() const { return count_ == 0; }

  void add(uint64_t address, uint64_t size);
  // True if some of them are new.
  bool add_new(uint64_t address, uint64_t size);
  // Adds those bytes to `to` that are not in this set.
  void add_missing(uint64_t address, uint64_t size, ByteSet& to);
  bool contains(uint64_t address);

  // In ascending order, as long as they can be.
  std::vector<ByteRange> ranges();
  void ranges(std::vector<ByteRange>& to);

private:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kWord = 64;
  static constexpr size_t kFewestSlots = 64;
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Page {
    uint64_t number;
    uint64_t words[kPage / kWord];
  };

  // Calls `take` with each word that the range touches: the page's number, the word's, and the bits.
  template <class Take>
  static void for_words(uint64_t address, uint64_t size, Take take);
  size_t slot_of(uint64_t number) const;
  Page* find(uint64_t number);
  Page& page(uint64_t number);
  void grow();

  std::vector<Page> pages_; // those after the first `count_` are from before clear()
  size_t count_ = 0;
  size_t last_ = 0;
  std::vector<uint32_t> slots_; // indices of pages, by number
  std::vector<uint32_t> order_; // for ranges()
};

} // namespace rdb::debug
