// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/twin_symbols.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <cstring>

namespace rdb::debug {
namespace {

using Place = ProgramSymbols::Place;

constexpr std::string_view kTwinCall = "__rdb_twin_call";
constexpr std::string_view kRegionPrefix = "__rdb_fn_";
std::string quoted(std::string_view name) {
  return "'" + std::string(name) + "'";
}

} // namespace

bool is_code(const elf::Section& section) {
  return (section.header.sh_flags & SHF_EXECINSTR) != 0;
}
bool is_constant(const elf::Section& section) {
  return (section.header.sh_flags & SHF_WRITE) == 0 || section.name.starts_with(".data.rel.ro");
}
bool is_frames(const elf::Section& section) {
  return section.name == ".eh_frame" || section.name.starts_with(".gcc_except_table");
}

TwinSymbols::TwinSymbols(TwinObject& object, const TwinSurroundings& surroundings,
                         std::vector<uint64_t> places)
    : object_(object), elf_(*object.elf_), to_(surroundings), places_(std::move(places)),
      variables_(elf_.sections().size()), has_local_variables_(elf_.sections().size()),
      section_poison_(elf_.sections().size()), known_addresses_(elf_.symbols().size()),
      known_calls_(elf_.symbols().size()), thunks_(object.facts_.functions.size()) {
  for (uint32_t i = 0; i < object.facts_.statics.size(); ++i)
    static_of_.emplace(object.facts_.statics[i].symbol, i);
  for (uint32_t i = 0; i < object.facts_.regions.size(); ++i)
    region_of_.emplace(object.facts_.regions[i].debug_function, i);
  // A program that is linked to a fixed address has addresses of its own for functions of libraries: places
  // that jump there. All images use those when they take such a function's address.
  const LoadedImage& program = to_.images.images().front();
  for (const elf::Symbol& symbol : program.file->elf().dynamic_symbols())
    if (!symbol.defined() && symbol.type() == STT_FUNC && symbol.raw.st_value != 0)
      canonical_.emplace(symbol.name, symbol.raw.st_value + program.bias);
  sort_symbols();
  find_functions();
}

void TwinSymbols::sort_symbols() {
  for (const elf::Symbol& symbol : elf_.symbols()) {
    if (!symbol.in_section() || symbol.type() == STT_SECTION) continue;
    const elf::Section& section = elf_.section(symbol.section);
    if (is_code(section)) {
      if (symbol.type() == STT_FUNC || symbol.type() == STT_GNU_IFUNC)
        code_.emplace_back(symbol.section, symbol.raw.st_value, symbol.index);
    } else if (symbol.type() != STT_TLS && symbol.raw.st_size != 0) {
      uint64_t begin = symbol.raw.st_value;
      if (begin > section.header.sh_size || symbol.raw.st_size > section.header.sh_size - begin)
        throw elf::Error("variable " + quoted(symbol.name) + " lies outside of its section");
      variables_[symbol.section].push_back({begin, begin + symbol.raw.st_size, symbol.index});
      if (!symbol.global()) has_local_variables_[symbol.section] = true;
    }
  }
  std::ranges::sort(code_);
  for (std::vector<Variable>& variables : variables_)
    std::ranges::sort(variables, {}, &Variable::begin);
}

void TwinSymbols::find_functions() {
  object_.functions_.assign(object_.facts_.functions.size(), {});
  object_.slots_.assign(object_.facts_.functions.size(), 0);
  std::unordered_map<std::string_view, uint32_t> aliases;
  for (const TwinFacts::Alias& alias : object_.facts_.aliases)
    aliases.emplace(alias.symbol, alias.function);
  for (auto [section, offset, index] : code_) {
    const elf::Symbol& symbol = elf_.symbols()[index];
    auto known = object_.facts_.function_index.find(std::string(symbol.name));
    if (known == object_.facts_.function_index.end()) {
      if (auto alias = aliases.find(symbol.name); alias != aliases.end())
        function_of_.emplace(index, alias->second);
      continue;
    }
    const uint64_t size = elf_.section(section).header.sh_size;
    TwinFunction& function = object_.functions_[known->second];
    if (places_[section] == 0 || offset >= size || symbol.raw.st_size > size - offset)
      throw elf::Error("function " + quoted(symbol.name) + " lies outside of its section");
    if (function.code != 0) throw elf::Error("function " + quoted(symbol.name) + " is defined twice");
    function.code = places_[section] + offset;
    function.size = symbol.raw.st_size;
    function_of_.emplace(index, known->second);
    // An indirect function is where its resolver is.
    if (symbol.type() != STT_GNU_IFUNC) object_.by_code_.emplace_back(function.code, known->second);
    find_entry(known->second, symbol);
  }
  std::ranges::sort(object_.by_code_);
  for (size_t i = 0; i < object_.functions_.size(); ++i)
    if (object_.functions_[i].code == 0)
      throw elf::Error("it says that it has a function " + quoted(object_.facts_.functions[i].symbol) +
                       ", and has none");
}

// Under its own name, or another one that the source gives it.
Place TwinSymbols::place_of_function(uint32_t number) {
  Place place = to_.program.function(object_.facts_.unit, object_.facts_.functions[number]);
  for (const TwinFacts::Alias& alias : object_.facts_.aliases) {
    if (place) break;
    if (alias.function != number) continue;
    Place other = to_.program.global(alias.symbol);
    if (other.kind == Place::Kind::function || other.kind == Place::Kind::indirect) place = other;
  }
  return place;
}

void TwinSymbols::find_entry(uint32_t number, const elf::Symbol& symbol) {
  TwinFunction& function = object_.functions_[number];
  const TwinFacts::Function& facts = object_.facts_.functions[number];
  Place place = place_of_function(number);
  if (!place) {
    function.why_no_entry = place.why;
    if (auto copies = to_.program.pieces(facts.symbol, 0); !copies.empty())
      function.why_no_entry += ", only " + quoted(copies.front().name);
    if (symbol.type() == STT_GNU_IFUNC)
      replaced_.emplace(number, refused_stub("it calls " + facts.symbol + ": " + place.why));
    return;
  }
  uint64_t address = place.address + to_.bias();
  if (to_.image != 0 && facts.linkage != TwinLinkage::local)
    if (auto used = to_.images.resolved(to_.image, facts.symbol); used && *used != address) {
      // Of an indirect function, that is the answer.
      if (place.kind != Place::Kind::indirect) {
        function.why_no_entry = "another file's " + quoted(facts.symbol) + " is used";
        replaced_.emplace(number, *used);
        return;
      }
    }
  if (place.kind == Place::Kind::indirect) {
    auto answer = to_.images.resolved(to_.image, facts.symbol);
    if (!answer) answer = to_.world.run_resolver(address);
    if (!answer || *answer == 0) {
      function.why_no_entry = "it is not known which function " + quoted(facts.symbol) + " is";
      replaced_.emplace(number, refused_stub(function.why_no_entry));
      return;
    }
    function.is_indirect = true;
    function.entry = *answer;
    return;
  }
  function.entry = address;
  function.entry_size = place.size;
  find_folded(function, symbol);
}

void TwinSymbols::find_folded(TwinFunction& function, const elf::Symbol& symbol) const {
  auto first = std::ranges::lower_bound(code_, std::tuple(symbol.section, symbol.raw.st_value, 0u));
  auto is_declared = [&](std::string_view name) {
    for (auto at = first;
         at != code_.end() && std::get<0>(*at) == symbol.section && std::get<1>(*at) == symbol.raw.st_value;
         ++at)
      if (elf_.symbols()[std::get<2>(*at)].name == name) return true;
    return false;
  };
  for (std::string_view other : to_.program.functions_at(function.entry - to_.bias())) {
    std::string_view name = other.substr(0, other.find('@')); // without the version
    // gcc gives a function a second, local name for its own calls.
    bool is_second_name =
        name.starts_with(symbol.name) && name.substr(symbol.name.size()).starts_with(".localalias");
    if (name == symbol.name || plain_name(name) == symbol.name || is_second_name ||
        are_same_constructor(name, symbol.name) || is_declared(name))
      continue;
    function.folded_with.emplace_back(name);
  }
}

uint64_t TwinSymbols::own_or_poison(const elf::Section& section, uint64_t offset) {
  return (places_[section.index] != 0 ? places_[section.index] : poison_of(section)) + offset;
}

uint64_t TwinSymbols::poison_of(const elf::Section& section) {
  uint64_t& known = section_poison_[section.index];
  if (known == 0)
    known =
        poison(section.header.sh_size, "it uses a variable without a name in " + std::string(section.name));
  return known;
}

uint64_t TwinSymbols::resolve(const elf::Symbol& symbol, uint64_t offset, Use use) {
  if (symbol.index == 0) return offset;
  if (symbol.in_section()) {
    const elf::Section& section = elf_.section(symbol.section);
    if (symbol.type() == STT_SECTION) return resolve_place(section, offset, use);
    if (use != Use::frames || (!is_code(section) && is_constant(section)))
      return resolve_defined(symbol, use) + offset;
    return own_or_poison(section, symbol.raw.st_value) + offset;
  }
  if (symbol.reserved && symbol.section == SHN_ABS) return symbol.raw.st_value + offset;
  uint64_t& known = (use == Use::call ? known_calls_ : known_addresses_)[symbol.index];
  if (known == 0) known = outside(symbol, use);
  return known + offset;
}

uint64_t TwinSymbols::resolve_defined(const elf::Symbol& symbol, Use use) {
  uint64_t& known = (use == Use::call ? known_calls_ : known_addresses_)[symbol.index];
  if (known != 0) return known;
  const elf::Section& section = elf_.section(symbol.section);
  if (!is_code(section)) {
    known = variable(symbol);
  } else if (auto found = function_of_.find(symbol.index); found != function_of_.end()) {
    known = function(found->second, use);
  } else {
    // A label, or a function that the object says nothing of.
    known = own(symbol);
    if (symbol.type() == STT_FUNC && use == Use::address)
      if (Place place = to_.program.global(symbol.name); place.kind == Place::Kind::function)
        known = place.address + to_.bias();
  }
  return known;
}

uint64_t TwinSymbols::resolve_place(const elf::Section& section, uint64_t offset, Use use) {
  if (use == Use::frames) return own_or_poison(section, offset);
  if (is_code(section)) {
    const elf::Symbol* symbol = function_at(section.index, offset);
    return symbol != nullptr ? resolve_defined(*symbol, use) : own_or_poison(section, offset);
  }
  if (const Variable* around = variable_around(section.index, offset))
    return resolve_defined(elf_.symbols()[around->symbol], use) + (offset - around->begin);
  if (!is_constant(section)) return poison_of(section) + offset;
  constexpr uint64_t kStrings = SHF_MERGE | SHF_STRINGS;
  if ((section.header.sh_flags & kStrings) == kStrings) return string(section, offset);
  return own_or_poison(section, offset);
}

const elf::Symbol* TwinSymbols::function_at(uint32_t section, uint64_t offset) const {
  const elf::Symbol* any = nullptr;
  for (auto at = std::ranges::lower_bound(code_, std::tuple(section, offset, 0u));
       at != code_.end() && std::get<0>(*at) == section && std::get<1>(*at) == offset; ++at) {
    const elf::Symbol& symbol = elf_.symbols()[std::get<2>(*at)];
    if (symbol.type() != STT_FUNC) continue;
    any = &symbol;
    if (function_of_.contains(symbol.index)) return any;
  }
  return any;
}

const TwinSymbols::Variable* TwinSymbols::variable_around(uint32_t section, uint64_t offset) const {
  const std::vector<Variable>& variables = variables_[section];
  auto next = std::ranges::upper_bound(variables, offset, {}, &Variable::begin);
  if (next == variables.begin()) return nullptr;
  const Variable& before = *std::prev(next);
  return offset < before.end ? &before : nullptr;
}

uint64_t TwinSymbols::function(uint32_t number, Use use) {
  if (auto found = replaced_.find(number); found != replaced_.end()) return found->second;
  const TwinFunction& function = object_.functions_[number];
  if (function.entry == 0) return function.code;
  return use == Use::call && !function.is_indirect ? thunk(number) : function.entry;
}

// jmp [slot]
uint64_t TwinSymbols::thunk(uint32_t number) {
  if (thunks_[number] != 0) return thunks_[number];
  constexpr uint8_t kJump[] = {0xFF, 0x25, 2, 0, 0, 0, 0x0F, 0x0B};
  uint64_t place = to_.memory.take(sizeof kJump + sizeof(uint64_t), 16);
  std::memcpy(reinterpret_cast<void*>(place), kJump, sizeof kJump);
  object_.slots_[number] = place + sizeof kJump;
  object_.set_callee(number, TwinObject::Callee::program);
  return thunks_[number] = place;
}

uint64_t TwinSymbols::poison(uint64_t size, std::string why) {
  return to_.memory.add_poison(size, std::move(why));
}

uint64_t TwinSymbols::refused_stub(std::string why) {
  return to_.memory.add_stub({TwinStub::Kind::refused, &object_, 0, std::move(why)});
}

// What the object does not define.
uint64_t TwinSymbols::outside(const elf::Symbol& symbol, Use use) {
  std::string name(symbol.name);
  if (name == kTwinCall) return to_.memory.add_stub({TwinStub::Kind::twin_call, &object_, 0, {}});
  if (auto found = region_of_.find(name); found != region_of_.end())
    return to_.memory.add_stub({TwinStub::Kind::region, &object_, found->second, {}});
  if (name.starts_with(kRegionPrefix)) return refused_stub("nothing is known of region " + name);
  if (symbol.reserved && symbol.section == SHN_COMMON) return variable(symbol);
  if (auto found = find_outside(name, use)) {
    if (use == Use::call) object_.outside_calls_.push_back({name, *found});
    return *found;
  }
  if (symbol.binding() == STB_WEAK) return 0;
  object_.missing_.push_back(name);
  if (use == Use::call) return refused_stub("it calls " + name + ", which the program does not have");
  return poison(0, "it uses " + name + ", which the program does not have");
}

std::optional<uint64_t> TwinSymbols::find_outside(const std::string& name, Use use) {
  // Another image may have replaced what the unit's own has.
  if (to_.image != 0)
    if (auto used = to_.images.resolved(to_.image, name)) return used;
  if (auto found = find_in_program(name)) return found;
  if (use == Use::address)
    if (auto found = canonical_.find(name); found != canonical_.end()) return found->second;
  if (auto found = find_in_libraries(name)) return found;
  return to_.world.find_in_other_twin(name);
}

std::optional<uint64_t> TwinSymbols::find_in_program(const std::string& name) {
  Place place = to_.program.global(name);
  switch (place.kind) {
  case Place::Kind::function:
  case Place::Kind::data:
    return place.address + to_.bias();
  case Place::Kind::indirect:
    if (auto used = to_.images.resolved(to_.image, name)) return used;
    return to_.world.run_resolver(place.address + to_.bias());
  default:
    return std::nullopt;
  }
}

std::optional<uint64_t> TwinSymbols::find_in_libraries(const std::string& name) {
  if (auto used = to_.images.resolved(to_.image, name)) return used;
  auto found = to_.images.find(name);
  if (!found || found->is_thread_local()) return std::nullopt;
  if (!found->is_indirect()) return found->address;
  if (auto used = to_.images.resolved(name)) return used;
  return to_.world.run_resolver(found->address);
}

} // namespace rdb::debug
