// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/print/md5.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

namespace rdb::debug {
namespace {

// The standard's table: the first 32 bits of |sin(i + 1)|.
std::array<uint32_t, 64> sines() {
  std::array<uint32_t, 64> table;
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<uint32_t>(std::floor(std::fabs(std::sin(static_cast<double>(i + 1))) * 0x1p32));
  return table;
}

void add_block(std::array<uint32_t, 4>& state, const char* block) {
  static const std::array<uint32_t, 64> kSines = sines();
  static constexpr int kTurns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  uint32_t words[16];
  std::memcpy(words, block, sizeof words);
  auto [a, b, c, d] = state;
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t mixed, word;
    switch (i / 16) {
    case 0:
      mixed = (b & c) | (~b & d);
      word = i;
      break;
    case 1:
      mixed = (d & b) | (~d & c);
      word = 5 * i + 1;
      break;
    case 2:
      mixed = b ^ c ^ d;
      word = 3 * i + 5;
      break;
    default:
      mixed = c ^ (b | ~d);
      word = 7 * i;
      break;
    }
    uint32_t turned = std::rotl(a + mixed + kSines[i] + words[word % 16], kTurns[i / 16][i % 4]);
    a = d;
    d = c;
    c = b;
    b += turned;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

} // namespace

Md5 md5(std::string_view text) {
  std::array<uint32_t, 4> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  std::string padded(text);
  padded += '\x80';
  padded.append((120 - padded.size() % 64) % 64, '\0');
  uint64_t bits = 8 * static_cast<uint64_t>(text.size());
  padded.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  for (size_t at = 0; at < padded.size(); at += 64)
    add_block(state, padded.data() + at);
  Md5 result;
  std::memcpy(result.data(), state.data(), result.size());
  return result;
}

} // namespace rdb::debug
