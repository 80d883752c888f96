// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/shared_access.h"

#include "rdbtool/engine/translate/code_path.h"

namespace rdb::guest {
namespace {

constexpr uint64_t kNearStackPointer = 64 * 1024; // what lies closer is taken for the thread's own
constexpr uint8_t kLea = 0x8D;

// The general register from which the address is made, or -1: an address relative to rip, or absolute.
int base_register(const engine::Instruction& instruction) {
  uint8_t modrm = instruction.bytes[instruction.modrm_offset];
  uint8_t mod = modrm >> 6;
  uint8_t base = modrm & 7;
  if (base == 4) base = instruction.bytes[instruction.modrm_offset + 1] & 7; // of the SIB byte
  if (mod == 0 && base == 5) return -1;
  return base | (instruction.rex & 1) << 3;
}

} // namespace

bool touches_shared_memory(const engine::Registers& registers, AddressSpace& space) {
  std::optional<engine::Instruction> found = engine::instruction_at(space, registers.rip);
  if (!found) return false;
  const engine::Instruction& next = *found;
  bool access =
      next.kind == engine::Kind::plain && next.memory && next.segment == 0 && next.modrm_offset != 0;
  if (!access || next.bytes[next.modrm_offset - 1] == kLea) return false;
  int base = base_register(next);
  if (base < 0) return true;
  uint64_t distance = registers.gpr[base] - registers.gpr[engine::RSP] + 256;
  return distance > kNearStackPointer;
}

} // namespace rdb::guest
