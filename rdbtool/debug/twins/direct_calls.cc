// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/direct_calls.h"

#include "rdbtool/debug/twins/x86_decoder.h"

#include <optional>

namespace rdb::debug {
namespace {

// What a branch says of where it goes.
struct Target {
  uint64_t address;
  bool is_slot; // the address is there
  bool is_call;
};

std::optional<Target> target_of(const ZydisDecodedInstruction& instruction, uint64_t address) {
  switch (instruction.meta.category) {
  case ZYDIS_CATEGORY_CALL:
  case ZYDIS_CATEGORY_UNCOND_BR:
  case ZYDIS_CATEGORY_COND_BR:
    break;
  default:
    return std::nullopt;
  }
  const bool is_call = instruction.meta.category == ZYDIS_CATEGORY_CALL;
  uint64_t next = address + instruction.length;
  if (instruction.raw.imm[0].is_relative)
    return Target{next + static_cast<uint64_t>(instruction.raw.imm[0].value.s), false, is_call};
  bool is_relative = (instruction.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 &&
                     instruction.raw.modrm.mod == 0 && instruction.raw.modrm.rm == 5;
  if (is_relative) return Target{next + static_cast<uint64_t>(instruction.raw.disp.value), true, is_call};
  return std::nullopt;
}

// Calls `each` for every branch in these bytes.
template <class F>
void for_each_branch(std::string_view bytes, uint64_t address, F&& each) {
  while (!bytes.empty()) {
    ZydisDecodedInstruction instruction;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&x86_decoder(), nullptr, bytes.data(), bytes.size(),
                                                    &instruction))) {
      // Data in the code: what follows is decoded all the same, since all that counts are calls.
      bytes.remove_prefix(1);
      ++address;
      continue;
    }
    if (std::optional<Target> target = target_of(instruction, address)) each(address, *target);
    bytes.remove_prefix(instruction.length);
    address += instruction.length;
  }
}

} // namespace

DirectCalls::DirectCalls(const ProgramSymbols& program) : program_(program) {
  find_linked_functions();
}

// A function that another file could replace is called through a few instructions that jump to the address
// which the dynamic linker has written into a word.
void DirectCalls::find_linked_functions() {
  for (const ProgramFile::FunctionSlot& slot : program_.file().function_slots())
    if (ProgramSymbols::Place place = program_.global(slot.name);
        place.kind == ProgramSymbols::Place::Kind::function)
      by_slot_.emplace(slot.address, place.address);
  for (const elf::Section& section : program_.file().elf().sections()) {
    if (!section.allocated() || !section.name.starts_with(".plt")) continue;
    constexpr uint64_t kStub = 16; // or 8, in .plt.got
    for_each_branch(section.bytes, section.header.sh_addr, [&](uint64_t at, const Target& target) {
      if (!target.is_slot) return;
      auto found = by_slot_.find(target.address);
      if (found == by_slot_.end()) return;
      linked_.emplace(at, found->second);
      // There may be an endbr64 in front of the jump.
      linked_.emplace(at & ~(kStub - 1), found->second);
      linked_.emplace(at & ~(kStub / 2 - 1), found->second);
    });
  }
}

void DirectCalls::decode(uint64_t begin, uint64_t size, std::map<uint64_t, unsigned>& calls) const {
  for_each_branch(program_.file().elf().loaded_at(begin, size), begin, [&](uint64_t, const Target& target) {
    uint64_t to = target.address;
    if (target.is_slot) {
      auto found = by_slot_.find(to);
      if (found == by_slot_.end()) return;
      to = found->second;
    } else if (auto found = linked_.find(to); found != linked_.end()) {
      to = found->second;
    }
    // A loop may lead to the function's first instruction: that is no call.
    if (to >= begin && to < begin + size && !target.is_call) return;
    ++calls[to];
  });
}

const std::map<uint64_t, unsigned>& DirectCalls::of(std::string_view name, uint64_t address, uint64_t size) {
  auto [known, is_new] = known_.try_emplace(address);
  if (!is_new) return known->second;
  decode(address, size, known->second);
  for (const ProgramSymbols::Function& piece : program_.pieces(name, address))
    decode(piece.address, piece.size, known->second);
  return known->second;
}

unsigned DirectCalls::count(const ProgramSymbols::Function& from, uint64_t to) {
  const std::map<uint64_t, unsigned>& calls = of(from.name, from.address, from.size);
  auto found = calls.find(to);
  return found == calls.end() ? 0 : found->second;
}

} // namespace rdb::debug
