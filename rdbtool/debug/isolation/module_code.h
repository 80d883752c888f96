// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the machine code of the loaded debug modules is: what runs there is debug code itself, and not one of
// the libraries that it calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace rdb::debug {

class ModuleCode {
public:
  void add(std::span<const uint8_t> code) { modules_.push_back(code); }
  void remove(std::span<const uint8_t> code) {
    std::erase_if(modules_, [&](std::span<const uint8_t> known) { return known.data() == code.data(); });
  }
  bool contains(uint64_t address) const {
    return std::ranges::any_of(modules_, [&](std::span<const uint8_t> code) {
      return address - reinterpret_cast<uint64_t>(code.data()) < code.size();
    });
  }

private:
  std::vector<std::span<const uint8_t>> modules_;
};

} // namespace rdb::debug
