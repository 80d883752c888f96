// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of section .rdb. A record begins with PayloadHeader, goes on with its address table, then with
// byte strings, each a 64-bit length and the bytes, padded to 8: unit, descriptors, debug object, twin
// object, and for each source its id (as length without bytes) and its text. Records say how long they are,
// since `ld -r` joins the sections of its inputs.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdb::descriptors {

inline constexpr char kPayloadMagic[8] = {'R', 'D', 'B', 'P', 'A', 'Y', '0', '2'};

struct PayloadHeader {
  char magic[8];
  uint64_t size; // of the whole record
  uint64_t addresses;
  uint64_t sources;
};

enum AddressFlags : uint64_t {
  kAddressTls = 1,   // an offset in the TLS block is wanted
  kAddressGroup = 2, // the code is in a COMDAT group: another object's copy may take its place
};

// `value` is what a relocation applies to. Where another copy may take the place of this one, size and hash
// of the section tell whether it is the same code.
struct AddressSlot {
  uint64_t value;
  uint64_t flags;
  uint64_t section_size;
  uint64_t section_hash;
};

// FNV-1a: tells apart two compiles of one function.
inline uint64_t content_hash(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : bytes)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

} // namespace rdb::descriptors
