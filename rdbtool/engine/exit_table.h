// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All ways out of translated code, by number. One is looked up each time that code is left, so that must take
// two loads; and they stay where they are while others are added.
#pragma once

#include "rdbtool/engine/block.h"

#include <memory>
#include <vector>

namespace rdb::engine {

class ExitTable {
public:
  Exit& operator[](uint32_t number) { return chunks_[number >> kShift][number & (kChunk - 1)]; }
  uint32_t size() const { return size_; }

  uint32_t add(const Exit& exit) {
    if (size_ >> kShift == chunks_.size()) chunks_.push_back(std::make_unique<Exit[]>(kChunk));
    (*this)[size_] = exit;
    return size_++;
  }

  void clear() { size_ = 0; }

private:
  static constexpr uint32_t kShift = 8;
  static constexpr uint32_t kChunk = 1u << kShift;

  std::vector<std::unique_ptr<Exit[]>> chunks_;
  uint32_t size_ = 0;
};

} // namespace rdb::engine
