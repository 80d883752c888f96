// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See placement.h.
#include "llvm-passes/link/placement.h"

#include <algorithm>
#include <set>

namespace rdb::link {

namespace {

// The bytes around a relocation that a linker may change: its field, and the instruction in front of it where
// linkers rewrite that too (GOT loads that become lea, thread-local sequences).
struct Extent {
  uint64_t before;
  uint64_t after;
};

Extent extent_of(uint32_t type) {
  switch (type) {
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
  case R_X86_64_32:
  case R_X86_64_32S:
  case R_X86_64_GOTPCREL:
  case R_X86_64_TPOFF32:
  case R_X86_64_DTPOFF32:
    return {0, 4};
  case R_X86_64_GOTPCRELX:
    return {2, 4};
  case R_X86_64_REX_GOTPCRELX:
  case R_X86_64_GOTTPOFF:
    return {3, 4};
  case R_X86_64_TLSGD:
    return {4, 12};
  case R_X86_64_TLSLD:
    return {3, 10};
  default:
    return {4, 8};
  }
}

bool is_named_definition(const elf::Symbol& symbol) {
  return symbol.defined() && !symbol.name.empty() && symbol.type() != STT_SECTION &&
         symbol.type() != STT_FILE;
}

} // namespace

bool same_bytes(const elf::File& object, const elf::Section& section, const elf::File& program,
                uint64_t address) {
  if (section.bytes.empty()) return true; // .bss: nothing to compare
  std::string expected(section.bytes);
  std::string found(program.loaded_at(address, expected.size()));
  if (found.size() != expected.size()) return false;
  for (const Elf64_Rela& relocation : object.relocations_of(section.index)) {
    Extent extent = extent_of(ELF64_R_TYPE(relocation.r_info));
    uint64_t begin = relocation.r_offset - std::min<uint64_t>(relocation.r_offset, extent.before);
    uint64_t end = std::min<uint64_t>(relocation.r_offset + extent.after, expected.size());
    for (uint64_t i = begin; i < end; ++i)
      expected[i] = found[i];
  }
  return expected == found;
}

Placement::Placement(const elf::File& program) : program_(program) {
  for (const elf::Symbol& symbol : program.symbols())
    if (is_named_definition(symbol)) symbols_[symbol.name].push_back(symbol);
  if (!symbols_.empty()) return;
  for (const elf::Symbol& symbol : program.dynamic_symbols()) // stripped
    if (is_named_definition(symbol)) symbols_[symbol.name].push_back(symbol);
}

const std::vector<elf::Symbol>* Placement::find(std::string_view name) const {
  auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : &found->second;
}

std::optional<uint64_t> Placement::section(const elf::File& object, uint32_t index) const {
  const elf::Section& section = object.section(index);
  // Statics of different units may have one name; all symbols of the section together decide.
  std::optional<std::set<uint64_t>> possible;
  for (const elf::Symbol& symbol : object.symbols()) {
    if (!is_named_definition(symbol) || !symbol.in_section() || symbol.section != index) continue;
    const std::vector<elf::Symbol>* same_name = find(symbol.name);
    if (same_name == nullptr) continue; // a stripped program has only some
    std::set<uint64_t> here;
    for (const elf::Symbol& candidate : *same_name)
      if (candidate.type() == symbol.type() && candidate.raw.st_value >= symbol.raw.st_value)
        here.insert(candidate.raw.st_value - symbol.raw.st_value);
    if (possible)
      std::erase_if(*possible, [&](uint64_t address) { return !here.contains(address); });
    else
      possible = std::move(here);
  }
  if (!possible) return std::nullopt;
  std::erase_if(*possible, [&](uint64_t address) { return !same_bytes(object, section, program_, address); });
  if (possible->size() != 1) return std::nullopt;
  return *possible->begin();
}

std::multimap<uint64_t, uint64_t> Placement::answers(const std::vector<InputObject>& objects) const {
  std::multimap<uint64_t, uint64_t> result;
  for (const InputObject& input : objects) {
    elf::File object(input.bytes);
    std::map<uint32_t, std::optional<uint64_t>> placed;
    for (const Question& question : input.questions) {
      const descriptors::Target& target = question.target;
      switch (target.kind) {
      case descriptors::Target::Kind::discarded:
        result.emplace(question.id, 0);
        break;
      case descriptors::Target::Kind::section: {
        auto [at, fresh] = placed.try_emplace(target.section);
        if (fresh) at->second = section(object, target.section);
        if (at->second) result.emplace(question.id, *at->second + static_cast<uint64_t>(target.offset));
        break;
      }
      case descriptors::Target::Kind::symbol: {
        const std::vector<elf::Symbol>* found = find(object.symbols().at(target.symbol).name);
        if (found != nullptr && found->size() == 1)
          result.emplace(question.id, found->front().raw.st_value + static_cast<uint64_t>(target.offset));
        break;
      }
      }
    }
  }
  return result;
}

} // namespace rdb::link
