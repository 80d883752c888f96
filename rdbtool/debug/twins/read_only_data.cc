// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/read_only_data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace rdb::debug {
namespace {

constexpr uint64_t kWord = 8;
constexpr uint32_t kNone = UINT32_MAX;
// More places that are alike in one word than this are taken for ambiguous without a look at them all.
constexpr size_t kMostCandidates = 4096;

// Read-only sections whose content the linker makes or which describe code.
constexpr std::array<std::string_view, 6> kNotData = {".interp",    ".eh_frame_hdr",     ".eh_frame",
                                                      ".gnu_extab", ".gcc_except_table", ".stapsdt.base"};

uint64_t word_at(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The last eight bytes of a text, the last one in front, so that texts with the same end have like numbers.
uint64_t last_bytes(std::string_view text) {
  if (text.size() >= kWord) return word_at(text.data() + text.size() - kWord);
  uint64_t word = 0;
  for (size_t i = 0; i < text.size(); ++i)
    word |= uint64_t{static_cast<uint8_t>(text[text.size() - 1 - i])} << (56 - 8 * i);
  return word;
}

} // namespace

ReadOnlyData::ReadOnlyData(const elf::File& file) {
  for (const elf::Section& section : file.sections()) {
    if (!section.allocated() || section.header.sh_type != SHT_PROGBITS || section.bytes.size() >= kNone ||
        (section.header.sh_flags & (SHF_WRITE | SHF_EXECINSTR | SHF_TLS)) != 0 ||
        std::ranges::find(kNotData, section.name) != kNotData.end())
      continue;
    ranges_.push_back({section.bytes, section.header.sh_addr});
  }
}

uint64_t ReadOnlyData::size() const {
  uint64_t sum = 0;
  for (const Range& range : ranges_)
    sum += range.bytes.size();
  return sum;
}

void ReadOnlyData::sort_strings() {
  has_strings_ = true;
  for (uint32_t number = 0; number < ranges_.size(); ++number) {
    std::string_view bytes = ranges_[number].bytes;
    for (size_t begin = 0, zero; (zero = bytes.find('\0', begin)) != std::string_view::npos; begin = zero + 1)
      if (zero != begin)
        strings_.push_back(
            {last_bytes(bytes.substr(begin, zero - begin)), number, static_cast<uint32_t>(zero)});
  }
  std::ranges::sort(strings_, {}, &Ending::last);
}

bool ReadOnlyData::begins_string(const Ending& ending, size_t length) const {
  return ending.zero == length || ranges_[ending.range].bytes[ending.zero - length - 1] == 0;
}

std::optional<uint64_t> ReadOnlyData::find_string(std::string_view text_with_zero) {
  size_t length = text_with_zero.find('\0');
  if (length == 0 || length + 1 != text_with_zero.size()) return std::nullopt;
  if (!has_strings_) sort_strings();
  std::string_view text = text_with_zero.substr(0, length);
  uint64_t lowest = last_bytes(text);
  uint64_t highest = length >= kWord ? lowest : lowest | (UINT64_MAX >> (8 * length));
  auto at = std::ranges::lower_bound(strings_, lowest, {}, &Ending::last);
  size_t beginning = 0, ending = 0;
  uint64_t begins_at = 0, ends_at = 0;
  for (size_t looked_at = 0; at != strings_.end() && at->last <= highest; ++at) {
    if (++looked_at > kMostCandidates) return std::nullopt;
    const Range& range = ranges_[at->range];
    if (at->zero < length || range.bytes.substr(at->zero - length, length) != text) continue;
    uint64_t address = range.address + at->zero - length;
    if (begins_string(*at, length)) {
      begins_at = address;
      if (++beginning > 1) return std::nullopt;
    } else {
      ends_at = address;
      ++ending;
    }
  }
  if (beginning == 1) return begins_at;
  if (ending == 1) return ends_at;
  return std::nullopt;
}

void ReadOnlyData::sort_words() {
  has_words_ = true;
  size_t count = 0;
  for (const Range& range : ranges_)
    count += range.bytes.size() / kWord;
  if (count >= kNone) return;
  heads_.assign(std::bit_ceil(std::max<size_t>(count, 64)), kNone);
  words_.reserve(count);
  for (uint32_t number = 0; number < ranges_.size(); ++number) {
    const Range& range = ranges_[number];
    for (uint64_t at = -range.address % kWord; at + kWord <= range.bytes.size(); at += kWord) {
      uint64_t word = word_at(range.bytes.data() + at);
      if (word == 0) continue;
      uint32_t& head = heads_[std::hash<uint64_t>()(word * 0x9E3779B97F4A7C15 >> 32) & (heads_.size() - 1)];
      words_.push_back({number, static_cast<uint32_t>(at), head});
      head = static_cast<uint32_t>(words_.size() - 1);
    }
  }
}

std::optional<uint64_t> ReadOnlyData::find_bytes(std::string_view bytes, uint64_t alignment) {
  if (bytes.size() < kWord || !std::has_single_bit(alignment)) return std::nullopt;
  if (!has_words_) sort_words();
  std::optional<uint64_t> found;
  // For each way in which the place can lie between words, the first whole word in it that is not zero.
  for (uint64_t shift = 0; shift < kWord; shift += std::min(alignment, kWord)) {
    uint64_t offset = (kWord - shift) % kWord;
    while (offset + kWord <= bytes.size() && word_at(bytes.data() + offset) == 0)
      offset += kWord;
    if (offset + kWord > bytes.size()) return std::nullopt;
    uint64_t word = word_at(bytes.data() + offset);
    if (heads_.empty()) return std::nullopt;
    size_t looked_at = 0;
    for (uint32_t i = heads_[std::hash<uint64_t>()(word * 0x9E3779B97F4A7C15 >> 32) & (heads_.size() - 1)];
         i != kNone; i = words_[i].next) {
      if (++looked_at > kMostCandidates) return std::nullopt;
      const Range& range = ranges_[words_[i].range];
      if (words_[i].offset < offset) continue;
      uint64_t begin = words_[i].offset - offset;
      uint64_t address = range.address + begin;
      if (address % alignment != 0 || range.bytes.substr(begin, bytes.size()) != bytes) continue;
      if (found) return std::nullopt;
      found = address;
    }
  }
  return found;
}

} // namespace rdb::debug
