// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What this CPU can do, as far as the engine depends on it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdb::engine {

// XSAVE's components of vector registers. The first has a fixed place, the others are where the CPU says.
enum Component : uint8_t { kXmm = 1, kYmmUpper = 2, kMasks = 5, kZmmUpper = 6, kZmmHigh = 7 };
// Offsets and sizes in XSAVE's layout that are the same on every CPU.
constexpr size_t kMxcsrOffset = 24;
constexpr size_t kX87RegistersOffset = 32;
constexpr size_t kXmmOffset = 160;
constexpr size_t kLegacySize = 512;
constexpr size_t kHeaderSize = 64;

struct Cpu {
  bool avx = false;
  bool avx512 = false;
  bool wide_masks = false; // with AVX-512: mask registers of 64 bits, not 16
  bool bmi2 = false;
  uint64_t xcr0 = 3;                  // state components the system has switched on
  size_t xsave_size = 576;            // of the standard layout with these components
  uint32_t component_offset[32] = {}; // standard layout
  uint32_t component_size[32] = {};
};

// Throws Limit when something the engine needs is missing.
const Cpu& cpu();

} // namespace rdb::engine
