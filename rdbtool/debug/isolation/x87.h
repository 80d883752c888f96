// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Saves the program's x87 state while debug code runs; debug code starts with the initial state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rdb::debug {

// The guest's x87 state is in the CPU all the time; its vector registers are saved already. Saving costs more
// than everything else around a short region, and even asking whether the state is the initial one costs a
// third of it, so nothing is done while the guest has no x87 code at all.
class X87 {
public:
  // `has_flag`: the CPU can tell whether x87 is in its initial state.
  X87(bool guest_uses_it, bool has_flag) : guest_uses_it_(guest_uses_it) {
    if (!guest_uses_it_ || (has_flag && !in_use())) return;
    saved_ = true;
    asm volatile("fxsave64 %0; fninit" : "=m"(image_));
  }

  ~X87() {
    if (guest_uses_it_)
      restore();
    else
      tidy();
  }
  // Debug code was left in the middle.
  static void clear() { asm volatile("fninit"); }
  X87(const X87&) = delete;
  X87& operator=(const X87&) = delete;

private:
  static constexpr uint16_t kInitialControl = 0x37F;

  static bool in_use() {
    uint32_t low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low & 1;
  }

  // Debug code begins with the initial rounding and precision every time.
  static void tidy() {
    uint16_t control;
    asm volatile("fnstcw %0" : "=m"(control));
    if (control != kInitialControl) asm volatile("fninit");
  }

  void restore() {
    if (!saved_ && !in_use()) return;
    if (!saved_) {
      std::memset(image_, 0, sizeof image_);
      const uint32_t mxcsr = 0x1F80;
      std::memcpy(image_, &kInitialControl, 2);
      std::memcpy(image_ + 24, &mxcsr, 4);
    }
    asm volatile("fxrstor64 %0"
                 :
                 : "m"(image_)
                 : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  }

  alignas(16) std::byte image_[512];
  bool guest_uses_it_;
  bool saved_ = false;
};

} // namespace rdb::debug
