// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a string literal of the source is in the program. Programs hash the addresses of literals and compare
// them, so a twin must use the program's, which have no names. What is known is their content: a string that
// is there once in the program's read-only data is that one.
//
// A program has ten megabytes of such data at times and a unit thousands of literals, so there are two
// tables. Strings are sorted by their last eight bytes: linkers let a string be the end of a longer one, and
// all strings that end in the same way are neighbours there. Other constants are found by one of their words.
#pragma once

#include "descriptors/elf_file.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rdb::debug {

class ReadOnlyData {
public:
  // The file must outlive it. The tables are made when they are first needed.
  explicit ReadOnlyData(const elf::File& file);

  // The one place, as linked, of a string with its terminating zero: that begins behind another zero, or if
  // there is none, the one end of a longer string. None if there are several, or if it is empty.
  std::optional<uint64_t> find_string(std::string_view text_with_zero);
  // The one place of these bytes that is aligned so. Nothing is found by less than eight bytes, and nothing
  // that consists of zeros.
  std::optional<uint64_t> find_bytes(std::string_view bytes, uint64_t alignment);

  uint64_t size() const;

private:
  struct Range {
    std::string_view bytes;
    uint64_t address;
  };
  struct Ending {
    uint64_t last; // the last eight bytes before the zero; less if the string is shorter, then zeros
    uint32_t range;
    uint32_t zero; // where the terminating zero is
  };
  struct Word {
    uint32_t range, offset;
    uint32_t next;
  };

  void sort_strings();
  void sort_words();
  bool begins_string(const Ending& ending, size_t length) const;

  std::vector<Range> ranges_;
  bool has_strings_ = false, has_words_ = false;
  std::vector<Ending> strings_;
  std::vector<uint32_t> heads_;
  std::vector<Word> words_;
};

} // namespace rdb::debug
