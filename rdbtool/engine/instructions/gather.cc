// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AVX2 has its mask in the sign bits of a vector, AVX-512 in a mask register.
#include "rdbtool/engine/instructions/gather.h"

#include "rdbtool/base/error.h"
#include "rdbtool/engine/cpu.h"

#include <algorithm>
#include <cstring>

namespace rdb::engine {
namespace {

// The instruction's name says how wide its distances and its elements are.
struct Widths {
  uint32_t distance;
  uint32_t element;
};
Widths widths_of(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
  case ZYDIS_MNEMONIC_VGATHERDPS:
  case ZYDIS_MNEMONIC_VPGATHERDD:
  case ZYDIS_MNEMONIC_VSCATTERDPS:
  case ZYDIS_MNEMONIC_VPSCATTERDD:
    return {4, 4};
  case ZYDIS_MNEMONIC_VGATHERDPD:
  case ZYDIS_MNEMONIC_VPGATHERDQ:
  case ZYDIS_MNEMONIC_VSCATTERDPD:
  case ZYDIS_MNEMONIC_VPSCATTERDQ:
    return {4, 8};
  case ZYDIS_MNEMONIC_VGATHERQPS:
  case ZYDIS_MNEMONIC_VPGATHERQD:
  case ZYDIS_MNEMONIC_VSCATTERQPS:
  case ZYDIS_MNEMONIC_VPSCATTERQD:
    return {8, 4};
  case ZYDIS_MNEMONIC_VGATHERQPD:
  case ZYDIS_MNEMONIC_VPGATHERQQ:
  case ZYDIS_MNEMONIC_VSCATTERQPD:
  case ZYDIS_MNEMONIC_VPSCATTERQQ:
    return {8, 8};
  default:
    return {0, 0}; // prefetches: they touch nothing
  }
}

class Vectors {
public:
  explicit Vectors(Engine& engine) : image_(engine.vector_size()) { engine.read_vectors(image_); }

  // One element, sign-extended.
  int64_t element(uint32_t number, uint32_t index, uint32_t size) const {
    uint32_t at = index * size;
    const Cpu& c = cpu();
    size_t offset = number >= 16 ? c.component_offset[kZmmHigh] + 64 * (number - 16) + at
                    : at < 16    ? kXmmOffset + 16 * number + at
                    : at < 32    ? c.component_offset[kYmmUpper] + 16 * number + at - 16
                                 : c.component_offset[kZmmUpper] + 32 * number + at - 32;
    if (size == 8) return load<int64_t>(offset);
    return load<int32_t>(offset);
  }
  uint64_t mask(uint32_t number) const {
    return load<uint64_t>(cpu().component_offset[kMasks] + sizeof(uint64_t) * number);
  }

private:
  template <class T>
  T load(size_t offset) const {
    RDB_CHECK(offset + sizeof(T) <= image_.size());
    T value;
    std::memcpy(&value, image_.data() + offset, sizeof value);
    return value;
  }
  std::vector<std::byte> image_;
};

uint32_t number_of(ZydisRegister vector) {
  return static_cast<uint32_t>(ZydisRegisterGetId(vector));
}

uint32_t bytes_of(ZydisRegister vector) {
  return ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, vector) / 8u;
}

bool is_mask(ZydisRegister reg) {
  return ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_MASK;
}

} // namespace

Gather gather(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand* operands, Engine& engine,
              Elements elements) {
  Widths widths = widths_of(instruction.mnemonic);
  if (widths.element == 0) return {};
  const ZydisDecodedOperand* memory = nullptr;
  std::vector<ZydisRegister> registers; // what is loaded or stored, and AVX2's mask
  for (int i = 0; i < instruction.operand_count_visible; ++i) {
    if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
      memory = &operands[i];
    else if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && !is_mask(operands[i].reg.value))
      registers.push_back(operands[i].reg.value);
  }
  RDB_CHECK(memory != nullptr && !registers.empty());
  bool by_register = is_mask(instruction.avx.mask.reg);
  RDB_CHECK(by_register || registers.size() == 2);
  Vectors vectors(engine);
  uint64_t mask = by_register ? vectors.mask(number_of(instruction.avx.mask.reg)) : 0;
  uint32_t count =
      std::min(bytes_of(memory->mem.index) / widths.distance, bytes_of(registers[0]) / widths.element);
  Gather result{widths.element, {}};
  for (uint32_t i = 0; i < count; ++i) {
    bool chosen = elements == Elements::all ||
                  (by_register ? (mask >> i & 1) != 0
                               : vectors.element(number_of(registers[1]), i, widths.element) < 0);
    if (chosen)
      result.distances.push_back(vectors.element(number_of(memory->mem.index), i, widths.distance) *
                                 memory->mem.scale);
  }
  return result;
}

} // namespace rdb::engine
