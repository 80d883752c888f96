// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers and bytes into and out of a buffer. Integers are varints (seven bits a byte, low bits first),
// signed ones zigzag first. The source never reads past its end: it fails once and stays failed.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace rdb::trace {

constexpr uint64_t zigzag(int64_t x) {
  return static_cast<uint64_t>(x) << 1 ^ static_cast<uint64_t>(x >> 63);
}
constexpr int64_t unzigzag(uint64_t x) {
  return static_cast<int64_t>(x >> 1 ^ (~(x & 1) + 1));
}

class ByteSink {
public:
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  const uint8_t* data() const { return data_.get(); }
  void clear() { size_ = 0; }
  void release() {
    data_.reset();
    size_ = capacity_ = 0;
  }

  void u8(uint8_t x) {
    ensure(1);
    data_[size_++] = x;
  }
  void u64(uint64_t x) { bytes(&x, sizeof x); }
  void varint(uint64_t x) {
    ensure(10);
    while (x >= 0x80) {
      data_[size_++] = static_cast<uint8_t>(x | 0x80);
      x >>= 7;
    }
    data_[size_++] = static_cast<uint8_t>(x);
  }
  void svarint(int64_t x) { varint(zigzag(x)); }
  void bytes(const void* from, size_t count) {
    if (count == 0) return;
    ensure(count);
    std::memcpy(data_.get() + size_, from, count);
    size_ += count;
  }
  void sized_bytes(const void* from, size_t count) {
    varint(count);
    bytes(from, count);
  }

private:
  void ensure(size_t more) {
    if (capacity_ - size_ >= more) [[likely]]
      return;
    grow(more);
  }
  void grow(size_t more) {
    size_t wanted = capacity_ == 0 ? 4096 : capacity_ * 2;
    while (wanted < size_ + more)
      wanted *= 2;
    std::unique_ptr<uint8_t[]> bigger(new uint8_t[wanted]);
    if (size_ != 0) std::memcpy(bigger.get(), data_.get(), size_);
    data_ = std::move(bigger);
    capacity_ = wanted;
  }

  std::unique_ptr<uint8_t[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

class ByteSource {
public:
  ByteSource() = default;
  explicit ByteSource(std::span<const uint8_t> bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool failed() const { return failed_; }
  bool empty() const { return next_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - next_); }

  uint8_t u8() { return empty() ? fail() : *next_++; }
  uint64_t u64() {
    uint64_t x = 0;
    if (const uint8_t* p = take(sizeof x)) std::memcpy(&x, p, sizeof x);
    return x;
  }
  uint64_t varint() {
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (empty()) return fail();
      uint8_t byte = *next_++;
      // The tenth byte has room for one bit: more would be lost, and two encodings would mean one number.
      if (shift == 63 && byte > 1) return fail();
      x |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return x;
    }
    return fail();
  }
  int64_t svarint() { return unzigzag(varint()); }
  // Null if there are fewer.
  const uint8_t* take(uint64_t count) {
    if (count > left()) {
      fail();
      return nullptr;
    }
    const uint8_t* p = next_;
    next_ += count;
    return p;
  }
  std::span<const uint8_t> sized_bytes() {
    uint64_t count = varint();
    const uint8_t* p = take(count);
    return p ? std::span(p, count) : std::span<const uint8_t>();
  }

private:
  uint8_t fail() {
    failed_ = true;
    next_ = end_;
    return 0;
  }

  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool failed_ = false;
};

} // namespace rdb::trace
