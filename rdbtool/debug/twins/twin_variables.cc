// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of TwinSymbols that is about data. What can change is the program's or nothing. What cannot, the
// twin may have as a copy, but programs compare and hash the addresses of constants, so the program's place
// is taken where it is known: by name, or else by content.
#include "rdbtool/base/error.h"
#include "rdbtool/debug/twins/twin_symbols.h"

#include <algorithm>
#include <cstring>

namespace rdb::debug {
namespace {

using Place = ProgramSymbols::Place;

constexpr uint64_t kStrings = SHF_MERGE | SHF_STRINGS;
constexpr std::string_view kFrameReference = "DW.ref.";

bool is_made_by_compiler(std::string_view name) {
  return name.find('.') != std::string_view::npos; // languages have no such names
}

} // namespace

bool TwinSymbols::is_own_data(const elf::Section& section, uint64_t offset) {
  if (is_constant(section)) return true;
  const Variable* around = variable_around(section.index, offset);
  if (around == nullptr) return true;
  const elf::Symbol& symbol = elf_.symbols()[around->symbol];
  return symbol.name.starts_with(kFrameReference) || labels_in(symbol) == Labels::only;
}

Place TwinSymbols::place_of_variable(const elf::Symbol& symbol) {
  if (auto found = static_of_.find(symbol.name); found != static_of_.end())
    return to_.program.static_variable(object_.facts_, object_.facts_.statics[found->second]);
  if (is_made_by_compiler(symbol.name) || (symbol.in_section() && !symbol.global()))
    return {Place::Kind::none, 0, 0, "the compiler has made it"};
  return to_.program.global(symbol.name);
}

uint64_t TwinSymbols::variable(const elf::Symbol& symbol) {
  std::string name(symbol.name);
  if (symbol.type() == STT_TLS) return poison(0, "it uses the thread-local " + name + " in an unknown way");
  const elf::Section* section = symbol.in_section() ? &elf_.section(symbol.section) : nullptr;
  const bool can_change = section == nullptr || !is_constant(*section);
  if (name.starts_with(kFrameReference) && section != nullptr)
    return own_or_poison(*section, symbol.raw.st_value);
  // Addresses of code in the middle of a function are the twin's: the program's would lead out of it.
  Labels labels = section != nullptr ? labels_in(symbol) : Labels::none;
  if (labels == Labels::only || (labels == Labels::some && !can_change)) return own(symbol);
  if (labels == Labels::some)
    return poison(symbol.raw.st_size,
                  "variable '" + name + "' has addresses inside of functions, and can change");
  if (to_.image != 0 && !static_of_.contains(symbol.name))
    if (auto used = to_.images.resolved(to_.image, name)) return *used;
  Place place = place_of_variable(symbol);
  if (place.kind == Place::Kind::data) {
    if (place.size == 0 || symbol.raw.st_size == 0 || place.size == symbol.raw.st_size) {
      if (!can_change) compare_constant(symbol, place);
      return place.address + to_.bias();
    }
    place.why = "it has " + std::to_string(place.size) + " bytes in the program";
  }
  if (!can_change) return constant(symbol);
  return poison(symbol.raw.st_size,
                "it uses variable '" + name + "', which is not known in the program: " + place.why);
}

void TwinSymbols::compare_constant(const elf::Symbol& symbol, const Place& place) {
  const elf::Section& section = elf_.section(symbol.section);
  uint64_t size = symbol.raw.st_size;
  if (size == 0 || section.bytes.empty() || !relocations_in(symbol).empty()) return;
  std::string_view theirs = to_.program.file().elf().loaded_at(place.address, size);
  if (theirs.size() == size && theirs != section.bytes.substr(symbol.raw.st_value, size))
    object_.other_constants_.emplace_back(symbol.name);
}

uint64_t TwinSymbols::constant(const elf::Symbol& symbol) {
  const elf::Section& section = elf_.section(symbol.section);
  if ((section.header.sh_flags & kStrings) == kStrings) return string(section, symbol.raw.st_value);
  if (!section.bytes.empty() && relocations_in(symbol).empty()) {
    // The alignment in the object may be by chance.
    constexpr uint64_t kAlignment = 4;
    uint64_t alignment =
        kAlignment | symbol.raw.st_value | std::max<uint64_t>(section.header.sh_addralign, 1);
    std::string_view bytes = section.bytes.substr(symbol.raw.st_value, symbol.raw.st_size);
    if (auto found = to_.program.read_only().find_bytes(bytes, alignment & -alignment))
      return *found + to_.bias();
  }
  return own(symbol);
}

uint64_t TwinSymbols::string(const elf::Section& section, uint64_t offset) {
  if (offset >= section.bytes.size()) return own_or_poison(section, offset);
  auto [known, is_new] = strings_.try_emplace({section.index, offset}, 0);
  if (!is_new) return known->second;
  const uint64_t unit = section.header.sh_entsize;
  std::string_view rest = section.bytes.substr(offset);
  std::optional<uint64_t> found;
  if (unit <= 1) {
    size_t zero = rest.find('\0');
    if (zero != std::string_view::npos) found = to_.program.read_only().find_string(rest.substr(0, zero + 1));
  } else if (unit <= sizeof(uint32_t)) {
    constexpr char kZero[sizeof(uint32_t)] = {};
    uint64_t size = 0;
    while (size + unit <= rest.size() && std::memcmp(rest.data() + size, kZero, unit) != 0)
      size += unit;
    if (size + unit <= rest.size())
      found = to_.program.read_only().find_bytes(rest.substr(0, size + unit), unit & -unit);
  }
  return known->second = found ? *found + to_.bias() : places_[section.index] + offset;
}

std::span<const Elf64_Rela> TwinSymbols::relocations_in(const elf::Symbol& symbol) {
  auto [known, is_new] = relocations_.try_emplace(symbol.section);
  if (is_new) {
    known->second = elf_.relocations_of(symbol.section);
    std::ranges::sort(known->second, {}, &Elf64_Rela::r_offset);
  }
  auto first = std::ranges::lower_bound(known->second, symbol.raw.st_value, {}, &Elf64_Rela::r_offset);
  auto last = std::ranges::lower_bound(known->second, symbol.raw.st_value + symbol.raw.st_size, {},
                                       &Elf64_Rela::r_offset);
  return {first, std::max(first, last)};
}

TwinSymbols::Labels TwinSymbols::labels_in(const elf::Symbol& symbol) {
  auto known = labels_.find(symbol.index);
  if (known == labels_.end()) known = labels_.emplace(symbol.index, find_labels(symbol)).first;
  return known->second;
}

TwinSymbols::Labels TwinSymbols::find_labels(const elf::Symbol& symbol) {
  uint64_t count = 0;
  for (const Elf64_Rela& relocation : relocations_in(symbol)) {
    const elf::Symbol& to = elf_.symbols()[ELF64_R_SYM(relocation.r_info)];
    if (!to.in_section() || !is_code(elf_.section(to.section))) continue;
    bool is_function =
        to.type() == STT_SECTION
            ? ELF64_R_TYPE(relocation.r_info) == R_X86_64_64 &&
                  function_at(to.section, static_cast<uint64_t>(relocation.r_addend)) != nullptr
            : to.type() == STT_FUNC || to.type() == STT_GNU_IFUNC;
    if (!is_function) ++count;
  }
  if (count == 0) return Labels::none;
  bool is_all = count * 8 == symbol.raw.st_size || count * 4 == symbol.raw.st_size;
  return is_all ? Labels::only : Labels::some;
}

TwinSymbols::ThreadLocal TwinSymbols::thread_local_variable(const elf::Symbol& symbol) {
  std::string name(symbol.name);
  if (symbol.type() == STT_SECTION) return {"it uses a thread-local variable without a name"};
  Place place = place_of_variable(symbol);
  if (place.kind == Place::Kind::thread_local_data) {
    bool differs =
        symbol.in_section() && place.size != 0 && symbol.raw.st_size != 0 && place.size != symbol.raw.st_size;
    if (differs) return {"it uses the thread-local '" + name + "', which has another size in the program"};
    return {{}, to_.image, place.address};
  }
  if (!symbol.in_section())
    if (auto found = to_.images.find(name); found && found->is_thread_local())
      return {{}, found->image, found->address};
  return {"it uses the thread-local '" + name + "', which is not known in the program"};
}

} // namespace rdb::debug
