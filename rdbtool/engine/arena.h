// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory for what is known about translated code. It is given out piece by piece and taken back all at once,
// together with the code it belongs to; single vectors for each block cost more than the translation.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace rdb::engine {

class Arena {
public:
  // A copy that lives until clear().
  template <class T>
  T* copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
    auto* place = static_cast<T*>(allocate(items.size_bytes()));
    if (!items.empty()) std::memcpy(static_cast<void*>(place), items.data(), items.size_bytes());
    return place;
  }
  template <class T>
  T* copy(const T& item) {
    return copy(std::span<const T>(&item, 1));
  }

  void clear() {
    current_ = 0;
    used_ = 0;
  }

private:
  static constexpr size_t kAlignment = 8;
  static constexpr size_t kChunk = 1 << 20;

  void* allocate(size_t size) {
    size = (size + kAlignment - 1) & ~(kAlignment - 1);
    if (current_ < chunks_.size() && used_ + size > kChunk) {
      ++current_;
      used_ = 0;
    }
    if (current_ == chunks_.size()) chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kChunk));
    std::byte* place = chunks_[current_].get() + used_;
    used_ += size;
    return place;
  }

  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  size_t current_ = 0;
  size_t used_ = 0;
};

} // namespace rdb::engine
