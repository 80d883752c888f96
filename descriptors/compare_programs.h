// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two builds of a program: are they the same, and if not, where do they part and why most likely? For
// `rdb verify`.
#pragma once

#include "descriptors/elf_file.h"

#include <string>
#include <vector>

namespace rdb::descriptors {

struct Comparison {
  bool same_file = false;                  // byte for byte
  bool same_loaded = false;                // every byte that is loaded
  std::vector<std::string> other_sections; // not loaded ones that differ, if same_loaded
  std::string first_difference;            // "function work(int): 38 bytes, was 34"
  std::vector<std::string> reasons;        // likely ones, the best first
};

// `original` is what `program` should be.
Comparison compare_programs(const elf::File& original, const elf::File& program);

} // namespace rdb::descriptors
