// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory for what is known about translated code. It is given out piece by piece and taken back all at once,
// together with the code it belongs to; single allocations for each block cost more than the translation. It
// comes in huge pages where the kernel has them: the first touch of a page is the larger part of its cost.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

namespace rdb::engine {

// Throws Limit. A function of its own, because code that is compiled without exceptions includes this, too.
[[noreturn]] void no_memory_for_code();

class Arena {
public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Lives until clear(). At most as large as a slab.
  void* allocate(size_t size) {
    size = (size + kAlignment - 1) & ~(kAlignment - 1);
    if (current_ == slabs_.size() || used_ + size > slabs_[current_].size) next_slab(size);
    std::byte* place = slabs_[current_].begin + used_;
    used_ += size;
    return place;
  }

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

  struct Slab {
    void* mapping;
    size_t mapped;
    std::byte* begin;
    size_t size;
  };

  // Goes on in a slab that has room for so much.
  void next_slab(size_t wanted);

  std::vector<Slab> slabs_;
  size_t current_ = 0;
  size_t used_ = 0;
};

// A growing array in an arena; its elements stay where they are.
template <class T>
class Pool {
public:
  explicit Pool(Arena& arena) : arena_(arena) {}

  size_t size() const { return size_; }
  T& operator[](size_t index) { return parts_[index / kPart][index % kPart]; }
  const T& operator[](size_t index) const { return parts_[index / kPart][index % kPart]; }

  T& add(const T& item) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (size_ == parts_.size() * kPart) parts_.push_back(static_cast<T*>(arena_.allocate(kPart * sizeof(T))));
    T* place = &parts_.back()[size_++ % kPart];
    return *new (place) T(item);
  }

  // To be called with the arena's clear().
  void clear() {
    parts_.clear();
    size_ = 0;
  }

private:
  static constexpr size_t kPart = 256;

  Arena& arena_;
  std::vector<T*> parts_;
  size_t size_ = 0;
};

} // namespace rdb::engine
