// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/nested/byte_set.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rdb::debug {

template <class Take>
void ByteSet::for_words(uint64_t address, uint64_t size, Take take) {
  while (size != 0) {
    const uint64_t first = address % kWord;
    const uint64_t some = std::min(size, kWord - first);
    const uint64_t bits = (some == kWord ? UINT64_MAX : (1ull << some) - 1) << first;
    take(address / kPage, address % kPage / kWord, bits);
    address += some;
    size -= some;
  }
}

// The slot that has the page, or where it would go.
size_t ByteSet::slot_of(uint64_t number) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = (number * 0x9E3779B97F4A7C15) >> 32 & mask;
  while (slots_[slot] != kNone && pages_[slots_[slot]].number != number)
    slot = (slot + 1) & mask;
  return slot;
}

ByteSet::Page* ByteSet::find(uint64_t number) {
  if (last_ < count_ && pages_[last_].number == number) return &pages_[last_];
  const uint32_t index = slots_[slot_of(number)];
  if (index == kNone) return nullptr;
  last_ = index;
  return &pages_[index];
}

ByteSet::Page& ByteSet::page(uint64_t number) {
  if (Page* found = find(number)) return *found;
  if (2 * (count_ + 1) > slots_.size()) grow();
  if (count_ == pages_.size()) pages_.emplace_back();
  last_ = count_;
  slots_[slot_of(number)] = static_cast<uint32_t>(count_);
  Page& page = pages_[count_++];
  page.number = number;
  std::memset(page.words, 0, sizeof page.words);
  return page;
}

void ByteSet::grow() {
  slots_.assign(2 * slots_.size(), kNone);
  for (size_t i = 0; i < count_; ++i)
    slots_[slot_of(pages_[i].number)] = static_cast<uint32_t>(i);
}

void ByteSet::clear() {
  constexpr size_t kManyPages = 1024;
  if (count_ < slots_.size() / 8) {
    // In the opposite order, since a page may stand behind one that came before it.
    while (count_ > 0) {
      slots_[slot_of(pages_[count_ - 1].number)] = kNone;
      --count_;
    }
  } else {
    std::fill(slots_.begin(), slots_.end(), kNone);
    count_ = 0;
  }
  last_ = 0;
  if (pages_.size() > kManyPages) {
    pages_.resize(kManyPages);
    pages_.shrink_to_fit();
    slots_.assign(4 * kManyPages, kNone);
  }
}

void ByteSet::add(uint64_t address, uint64_t size) {
  for_words(address, size,
            [&](uint64_t number, uint64_t word, uint64_t bits) { page(number).words[word] |= bits; });
}

bool ByteSet::add_new(uint64_t address, uint64_t size) {
  bool is_new = false;
  for_words(address, size, [&](uint64_t number, uint64_t word, uint64_t bits) {
    uint64_t& known = page(number).words[word];
    is_new |= (bits & ~known) != 0;
    known |= bits;
  });
  return is_new;
}

void ByteSet::add_missing(uint64_t address, uint64_t size, ByteSet& to) {
  for_words(address, size, [&](uint64_t number, uint64_t word, uint64_t bits) {
    if (const Page* known = find(number)) bits &= ~known->words[word];
    if (bits != 0) to.page(number).words[word] |= bits;
  });
}

bool ByteSet::contains(uint64_t address) {
  const Page* known = find(address / kPage);
  return known != nullptr && (known->words[address % kPage / kWord] >> address % kWord & 1) != 0;
}

std::vector<ByteRange> ByteSet::ranges() {
  std::vector<ByteRange> result;
  ranges(result);
  return result;
}

void ByteSet::ranges(std::vector<ByteRange>& to) {
  to.clear();
  order_.resize(count_);
  for (size_t i = 0; i < count_; ++i)
    order_[i] = static_cast<uint32_t>(i);
  std::sort(order_.begin(), order_.end(),
            [&](uint32_t one, uint32_t other) { return pages_[one].number < pages_[other].number; });
  for (uint32_t index : order_) {
    const Page& page = pages_[index];
    for (uint64_t word = 0; word < std::size(page.words); ++word) {
      uint64_t bits = page.words[word];
      while (bits != 0) {
        const auto first = static_cast<uint64_t>(std::countr_zero(bits));
        const auto length = static_cast<uint64_t>(std::countr_one(bits >> first));
        const uint64_t begin = page.number * kPage + word * kWord + first;
        if (!to.empty() && to.back().end == begin)
          to.back().end += length;
        else
          to.push_back({begin, begin + length});
        bits = first + length == kWord ? 0 : bits >> (first + length) << (first + length);
      }
    }
  }
}

} // namespace rdb::debug
