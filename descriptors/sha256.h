// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SHA-256 (FIPS 180-4), for the identity of programs: two that differ must not look alike.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace rdb::descriptors {

class Sha256 {
public:
  void update(std::string_view bytes);
  std::string finish_hex(); // once

private:
  void block(const unsigned char* bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> buffer_{};
  size_t buffered_ = 0;
  uint64_t total_ = 0;
};

// The hash of a text, in hex.
inline std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.finish_hex();
}

} // namespace rdb::descriptors
