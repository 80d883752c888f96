// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/nested/nested_state.h"

#include <cstring>

namespace rdb::debug {
namespace {

constexpr size_t kTagOffset = 4;
constexpr size_t kMxcsrOffset = 24;
constexpr size_t kRegistersOffset = 32;

void load_x87(const std::byte* image) {
  alignas(16) std::byte whole[512] = {};
  std::memcpy(whole, image, kMxcsrOffset);
  std::memcpy(whole + kRegistersOffset, image + kRegistersOffset, 128);
  asm volatile("stmxcsr %0" : "=m"(whole[kMxcsrOffset]));
  asm volatile("fxrstor64 %0"
               :
               : "m"(whole)
               : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

// What programs begin with.
void load_initial_x87() {
  constexpr uint16_t kInitialControl = 0x37F;
  std::byte image[512] = {};
  std::memcpy(image, &kInitialControl, sizeof kInitialControl);
  load_x87(image);
}

} // namespace

void NestedState::take(engine::Translator& engine) {
  engine.get_thread(registers);
  uses_x87 = engine.uses_x87();
  if (uses_x87) asm volatile("fxsave64 %0" : "=m"(x87));
}

void NestedState::give(engine::Translator& engine) const {
  engine.put_thread(registers);
  if (uses_x87) {
    engine.expect_x87();
    load_x87(x87);
  } else if (engine.uses_x87()) {
    load_initial_x87();
  }
}

void NestedState::end(const engine::Translator& engine) const {
  if (uses_x87)
    load_x87(x87);
  else if (engine.uses_x87())
    clear_x87();
}

X87Results x87_results() {
  alignas(16) std::byte image[512];
  asm volatile("fxsave64 %0" : "=m"(image));
  uint16_t status;
  uint8_t tags; // a bit for each register that is in use, not in the order of the stack
  std::memcpy(&status, image + 2, sizeof status);
  std::memcpy(&tags, image + kTagOffset, sizeof tags);
  const unsigned top = status >> 11 & 7;
  X87Results result;
  for (unsigned i = 0; i < 2; ++i) {
    result.has[i] = tags >> ((top + i) & 7) & 1;
    if (result.has[i]) std::memcpy(result.value[i], image + kRegistersOffset + 16 * i, 10);
  }
  return result;
}

[[gnu::naked]] void store_low_vectors(uint64_t*) {
  asm(R"(
      movq %xmm0, (%rdi)
      movq %xmm1, 8(%rdi)
      movq %xmm2, 16(%rdi)
      movq %xmm3, 24(%rdi)
      movq %xmm4, 32(%rdi)
      movq %xmm5, 40(%rdi)
      movq %xmm6, 48(%rdi)
      movq %xmm7, 56(%rdi)
      ret
  )");
}

void clear_x87() {
  asm volatile("fninit");
}

} // namespace rdb::debug
