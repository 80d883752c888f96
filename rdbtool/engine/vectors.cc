// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guest's vector and x87 registers, as an image in XSAVE's layout. Vector registers are in State while
// the host runs; x87 stays in the CPU. Of both the image holds values alone, so that two runs that are equal
// have equal images: see instructions/emulate.cc for what the CPU would add.
#include "rdbtool/base/error.h"
#include "rdbtool/engine/translator.h"

#include <algorithm>
#include <cstring>
#include <ucontext.h>

namespace rdb::engine {
namespace {

constexpr size_t kX87LastOffset = 6; // opcode, instruction pointer and data pointer of the last instruction
constexpr uint16_t kInitialControl = 0x37F;

bool all_zero(const std::byte* bytes, size_t size) {
  // At every switch of threads, over kilobytes: each byte compared with the one before, many at a time.
  return bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

// Calls `take` with each part of the vector registers: where it is, its size, its component, and its place in
// XSAVE's layout. Takes no memory: signal handlers come here too.
template <class Take>
void for_vector_parts(State& state, Take take) {
  const Cpu& c = cpu();
  for (size_t i = 0; i < 16; ++i) {
    take(state.vectors[i], 16, kXmm, kXmmOffset + 16 * i);
    if (c.avx) take(state.vectors[i] + 16, 16, kYmmUpper, c.component_offset[kYmmUpper] + 16 * i);
    if (c.avx512) take(state.vectors[i] + 32, 32, kZmmUpper, c.component_offset[kZmmUpper] + 32 * i);
  }
  if (!c.avx512) return;
  take(state.vectors[16], 16 * sizeof state.vectors[0], kZmmHigh, c.component_offset[kZmmHigh]);
  take(reinterpret_cast<std::byte*>(state.masks), sizeof state.masks, kMasks, c.component_offset[kMasks]);
}

} // namespace

void Translator::read_vectors(VectorImage image) {
  RDB_CHECK(image.size() >= vector_size());
  alignas(64) std::byte legacy[kLegacySize];
  std::fill(image.begin(), image.end(), std::byte{0});
  asm volatile("fxsave64 %0" : "=m"(legacy));
  if (!uses_x87_) { // it holds what the host has left there
    std::memset(legacy, 0, kMxcsrOffset);
    std::memset(legacy + kX87RegistersOffset, 0, kXmmOffset - kX87RegistersOffset);
    std::memcpy(legacy, &kInitialControl, sizeof kInitialControl);
  }
  std::memcpy(image.data(), legacy, kXmmOffset);
  std::memset(image.data() + kX87LastOffset, 0, kMxcsrOffset - kX87LastOffset);
  std::memcpy(image.data() + kMxcsrOffset, &state_.mxcsr_guest, 4);
  const Cpu& c = cpu();
  for_vector_parts(state_, [&](const std::byte* bytes, size_t size, Component, size_t offset) {
    std::memcpy(image.data() + offset, bytes, size);
  });
  // Which components hold something, by value.
  uint64_t used = 0;
  uint16_t control, status;
  std::memcpy(&control, image.data(), 2);
  std::memcpy(&status, image.data() + 2, 2);
  bool x87_initial = control == kInitialControl && status == 0 && image[4] == std::byte{0} &&
                     all_zero(image.data() + 6, 18) && all_zero(image.data() + kX87RegistersOffset, 128);
  if (!x87_initial) used |= 1;
  if (!all_zero(image.data() + kXmmOffset, 256) || state_.mxcsr_guest != 0x1F80) used |= 2;
  for (uint32_t i = 2; i < 32; ++i)
    if (c.component_size[i] && !all_zero(image.data() + c.component_offset[i], c.component_size[i]))
      used |= 1ull << i;
  std::memcpy(image.data() + kLegacySize, &used, 8);
}

void Translator::write_vectors(std::span<const std::byte> image) {
  RDB_CHECK(image.size() >= kLegacySize + kHeaderSize);
  uint64_t used;
  std::memcpy(&used, image.data() + kLegacySize, 8);
  if (used & 1) uses_x87_ = true;
  put_x87(image, used);
  put_vectors(image, used);
}

// Into the CPU, where it stays. `used`: the components that the image holds; others get their initial state.
void Translator::put_x87(std::span<const std::byte> image, uint64_t used) {
  alignas(64) std::byte legacy[kLegacySize] = {};
  std::memcpy(legacy, &kInitialControl, 2);
  std::memcpy(legacy + kMxcsrOffset, &state_.mxcsr_host, 4);
  if (used & 1) {
    std::memcpy(legacy, image.data(), kMxcsrOffset);
    std::memcpy(legacy + kX87RegistersOffset, image.data() + kX87RegistersOffset, 128);
  }
  asm volatile("fxrstor64 %0" : : "m"(legacy) : "memory");
}

// All of it but x87, which is in the CPU. `used`: the components that the image holds.
void Translator::put_vectors(std::span<const std::byte> image, uint64_t used) {
  std::memcpy(&state_.mxcsr_guest, image.data() + kMxcsrOffset, 4);
  state_.mxcsr_guest &= 0xFFFF;
  for_vector_parts(state_, [&](std::byte* bytes, size_t size, Component component, size_t offset) {
    if ((used >> component & 1) && image.size() >= offset + size)
      std::memcpy(bytes, image.data() + offset, size);
    else
      std::memset(bytes, 0, size);
  });
}

// The kernel's frame holds what the guest had: the handler's own vector registers are others.
void Translator::leave_fast_hook(void* ucontext) {
  constexpr size_t kMagicOffset = 464, kSizeOffset = 480;
  constexpr uint32_t kExtended = 0x46505853; // FP_XSTATE_MAGIC1
  constexpr uint64_t kLegacyOnly = 3;
  if (!in_fast_hook()) return;
  const auto* frame =
      reinterpret_cast<const std::byte*>(static_cast<ucontext_t*>(ucontext)->uc_mcontext.fpregs);
  uint32_t magic, size = kLegacySize;
  uint64_t used = kLegacyOnly;
  std::memcpy(&magic, frame + kMagicOffset, sizeof magic);
  if (magic == kExtended) {
    std::memcpy(&size, frame + kSizeOffset, sizeof size);
    std::memcpy(&used, frame + kLegacySize, sizeof used);
  }
  put_vectors({frame, size}, used);
  if (uses_x87_) put_x87({frame, size}, used); // the handler began with the initial state
  state_.in_fast_call = 0;
  asm volatile("rdgsbase %0" : "=r"(state_.registers.gs_base));
}

void Translator::get_thread(ThreadRegisters& to) const {
  const size_t count = cpu().avx512 ? 32 : 16;
  to.general = state_.registers;
  to.mxcsr = state_.mxcsr_guest;
  std::memcpy(to.vectors, state_.vectors, count * sizeof to.vectors[0]);
  std::memcpy(to.masks, state_.masks, sizeof to.masks);
}

void Translator::put_thread(const ThreadRegisters& from) {
  const size_t count = cpu().avx512 ? 32 : 16;
  state_.registers = from.general;
  state_.mxcsr_guest = from.mxcsr;
  std::memcpy(state_.vectors, from.vectors, count * sizeof from.vectors[0]);
  std::memcpy(state_.masks, from.masks, sizeof from.masks);
}

void Translator::read_vector(size_t index, std::byte* to) const {
  std::memcpy(to, state_.vectors[index], 32);
}

void Translator::write_vector(size_t index, const std::byte* from) {
  std::memcpy(state_.vectors[index], from, cpu().avx ? 32 : 16);
}

} // namespace rdb::engine
