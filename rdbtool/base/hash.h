// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hashes of a recording. xxh64 (the published XXH64) guards blocks and names stored files, so that other
// tools can check a trace. hash_words is the quick one over a few registers that every system call pays for,
// hash_bytes the one over what a call such as write puts out. All are plain integer code that may run with
// the guest's vector registers in place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdb {

namespace hash_detail {

inline constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                          kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                          kPrime5 = 0x27D4EB2F165667C5;

constexpr uint64_t rotate(uint64_t x, int n) {
  return x << n | x >> (64 - n);
}
constexpr uint64_t round(uint64_t acc, uint64_t lane) {
  return rotate(acc + lane * kPrime2, 31) * kPrime1;
}
constexpr uint64_t merge(uint64_t acc, uint64_t lane) {
  return (acc ^ round(0, lane)) * kPrime1 + kPrime4;
}

inline uint64_t load64(const uint8_t* p) {
  uint64_t x;
  __builtin_memcpy(&x, p, 8);
  return x;
}
inline uint32_t load32(const uint8_t* p) {
  uint32_t x;
  __builtin_memcpy(&x, p, 4);
  return x;
}

} // namespace hash_detail

// XXH64 of bytes that arrive in pieces.
class Xxh64 {
public:
  explicit Xxh64(uint64_t seed = 0)
      : seed_(seed), lanes_{seed + hash_detail::kPrime1 + hash_detail::kPrime2, seed + hash_detail::kPrime2,
                            seed, seed - hash_detail::kPrime1} {}

  void update(const void* data, size_t size) {
    auto* p = static_cast<const uint8_t*>(data);
    total_ += size;
    if (held_ != 0) {
      while (size != 0 && held_ < 32) {
        hold_[held_++ & 31] = *p++;
        --size;
      }
      if (held_ < 32) return;
      stripe(hold_);
      held_ = 0;
    }
    for (; size >= 32; p += 32, size -= 32)
      stripe(p);
    while (size-- != 0)
      hold_[held_++ & 31] = *p++;
  }

  // As update() with so many zeros, without any memory being read.
  void update_zeros(uint64_t size) {
    constexpr uint8_t kZeros[32] = {};
    uint64_t first = held_ == 0 ? 0 : (32 - held_ < size ? 32 - held_ : size);
    update(kZeros, first);
    size -= first;
    uint64_t a = lanes_[0], b = lanes_[1], c = lanes_[2], d = lanes_[3];
    for (uint64_t stripes = size / 32; stripes != 0; --stripes) {
      a = hash_detail::round(a, 0);
      b = hash_detail::round(b, 0);
      c = hash_detail::round(c, 0);
      d = hash_detail::round(d, 0);
    }
    lanes_[0] = a, lanes_[1] = b, lanes_[2] = c, lanes_[3] = d;
    total_ += size / 32 * 32;
    update(kZeros, size % 32);
  }

  uint64_t digest() const {
    using namespace hash_detail;
    uint64_t h = seed_ + kPrime5;
    if (total_ >= 32) {
      h = rotate(lanes_[0], 1) + rotate(lanes_[1], 7) + rotate(lanes_[2], 12) + rotate(lanes_[3], 18);
      for (uint64_t lane : lanes_)
        h = merge(h, lane);
    }
    h += total_;
    const uint8_t* p = hold_;
    size_t left = held_;
    for (; left >= 8; p += 8, left -= 8)
      h = rotate(h ^ round(0, load64(p)), 27) * kPrime1 + kPrime4;
    if (left >= 4) {
      h = rotate(h ^ load32(p) * kPrime1, 23) * kPrime2 + kPrime3;
      p += 4;
      left -= 4;
    }
    for (; left != 0; ++p, --left)
      h = rotate(h ^ *p * kPrime5, 11) * kPrime1;
    h = (h ^ h >> 33) * kPrime2;
    h = (h ^ h >> 29) * kPrime3;
    return h ^ h >> 32;
  }

private:
  void stripe(const uint8_t* p) {
    for (int i = 0; i < 4; ++i)
      lanes_[i] = hash_detail::round(lanes_[i], hash_detail::load64(p + 8 * i));
  }

  uint64_t seed_;
  uint64_t lanes_[4];
  uint64_t total_ = 0;
  uint8_t hold_[32];
  size_t held_ = 0;
};

inline uint64_t xxh64(const void* data, size_t size, uint64_t seed = 0) {
  Xxh64 hash(seed);
  hash.update(data, size);
  return hash.digest();
}

// For SyscallInput::hash: a few nanoseconds for a dozen words. Pairs of words are multiplied independently of
// each other and the halves of the products folded together, so that every bit of a word reaches the result.
[[gnu::always_inline]] inline uint64_t hash_words(const uint64_t* words, size_t count) {
  uint64_t h = count * hash_detail::kPrime1;
  uint64_t key = hash_detail::kPrime3;
  for (size_t i = 0; i < count; i += 2) {
    uint64_t second = i + 1 < count ? words[i + 1] : 0;
    auto product = static_cast<unsigned __int128>(words[i] ^ key) * (second ^ key ^ hash_detail::kPrime2);
    h += static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    key += hash_detail::kPrime5; // another key for each place: words that trade places change the sum
  }
  return (h ^ h >> 29) * hash_detail::kPrime2;
}

namespace hash_detail {

// Both words in all bits of the result.
inline uint64_t fold(uint64_t a, uint64_t b) {
  auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

} // namespace hash_detail

// Of bytes; `seed` is the hash of those before them, if they come in pieces. A product waits for the one
// before it, so there are four rows of them.
[[gnu::always_inline]] inline uint64_t hash_bytes(const uint8_t* p, size_t size, uint64_t seed = 0) {
  using namespace hash_detail;
  uint64_t h = seed ^ size * kPrime1;
  if (size >= 64) {
    uint64_t a = h, b = h ^ kPrime2, c = h ^ kPrime3, d = h ^ kPrime4;
    for (; size >= 64; p += 64, size -= 64) {
      a = fold(load64(p) ^ kPrime1, load64(p + 8) ^ a);
      b = fold(load64(p + 16) ^ kPrime2, load64(p + 24) ^ b);
      c = fold(load64(p + 32) ^ kPrime3, load64(p + 40) ^ c);
      d = fold(load64(p + 48) ^ kPrime4, load64(p + 56) ^ d);
    }
    h = fold(a ^ kPrime5, b) + fold(c ^ kPrime3, d);
  }
  for (; size >= 16; p += 16, size -= 16)
    h = fold(load64(p) ^ kPrime1, load64(p + 8) ^ h);
  uint64_t first = 0, last = 0;
  if (size >= 8) {
    first = load64(p), last = load64(p + size - 8);
  } else if (size >= 4) {
    first = load32(p), last = load32(p + size - 4);
  } else if (size != 0) {
    first = uint64_t{p[0]} << 16 | uint64_t{p[size / 2]} << 8 | p[size - 1];
  }
  return fold(first ^ kPrime2, last ^ h ^ kPrime4);
}

} // namespace rdb
