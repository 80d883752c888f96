// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/replay/partial_string_instruction.h"

#include "rdbtool/engine/translate/code_path.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace rdb::replay {
namespace {

constexpr uint64_t kDirection = 1 << 10; // in the flags
constexpr uint64_t kPiece = 64 * 1024;   // bytes that are written at once

using Operation = engine::StringInstruction::Operation;

} // namespace

uint64_t PartialStringInstruction::written_size() const {
  return instruction.writes() ? count * instruction.size : 0;
}

uint64_t PartialStringInstruction::written_begin() const {
  return down ? destination + instruction.size - written_size() : destination;
}

std::optional<PartialStringInstruction> partial_string_instruction(guest::Machine& machine,
                                                                   const trace::PartialInput& after) {
  const engine::Registers& before = machine.registers();
  std::optional<engine::Instruction> next = engine::instruction_at(machine.space(), before.rip);
  std::optional<engine::StringInstruction> instruction = next ? engine::repeated_string(*next) : std::nullopt;
  if (!instruction) return std::nullopt;
  uint64_t mask = instruction->address32 ? UINT32_MAX : UINT64_MAX;
  PartialStringInstruction part;
  part.instruction = *instruction;
  part.down = before.rflags & kDirection;
  uint64_t left = after.gpr[engine::RCX] & mask;
  uint64_t all = before.gpr[engine::RCX] & mask;
  if (left > all) return std::nullopt;
  part.count = all - left;
  // The pointers must have moved as far.
  uint64_t distance = part.count * instruction->size * (part.down ? UINT64_MAX : 1);
  for (auto [moves, pointer] : {std::pair{instruction->has_source(), engine::RSI},
                                std::pair{instruction->has_destination(), engine::RDI}})
    if (moves && ((before.gpr[pointer] + distance) & mask) != (after.gpr[pointer] & mask))
      return std::nullopt;
  part.source = before.gpr[engine::RSI] & mask;
  part.destination = before.gpr[engine::RDI] & mask;
  if (instruction->segment != 0)
    part.source += instruction->segment == 0x64 ? before.fs_base : before.gs_base;
  return part;
}

bool repeat_writes_of(guest::Machine& machine, const PartialStringInstruction& part) {
  guest::AddressSpace& space = machine.space();
  const uint64_t size = part.instruction.size;
  const bool copies = part.instruction.operation == Operation::movs;
  uint64_t left = part.written_size();
  // A piece is read before it is written. So it must end where the instruction would read what it has itself
  // written: an element that lies as far ahead as the source is from the destination.
  uint64_t piece = kPiece;
  if (copies) {
    uint64_t ahead = part.down ? part.source - part.destination : part.destination - part.source;
    if (ahead != 0) piece = std::clamp(ahead / size * size, size, kPiece);
  }
  std::vector<std::byte> bytes;
  for (uint64_t done = 0; left != 0;) {
    uint64_t now = std::min(piece, left);
    // Where its lowest byte is.
    auto place = [&](uint64_t first) {
      return GuestAddr(part.down ? first - done - now + size : first + done);
    };
    bytes.resize(now);
    if (copies) {
      if (space.read(place(part.source), bytes.data(), now) != now) return false;
    } else {
      const uint64_t value = machine.registers().gpr[engine::RAX];
      for (uint64_t at = 0; at < now; at += size)
        std::memcpy(bytes.data() + at, &value, size);
    }
    if (space.write(place(part.destination), bytes.data(), now) != now) return false;
    done += now;
    left -= now;
  }
  return true;
}

} // namespace rdb::replay
