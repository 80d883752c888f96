// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/program_symbols.h"

#include <algorithm>
#include <array>
#include <set>

namespace rdb::debug {
namespace {

using Place = ProgramSymbols::Place;

// Behind the name of a copy or a piece; a number may follow.
constexpr std::array<std::string_view, 7> kPieces = {".cold",       ".part",        ".isra", ".constprop",
                                                     ".localalias", ".specialized", ".warm"};
// Behind a name that is the function's or variable's own all the same: a local one that link-time
// optimisation has made global.
constexpr std::array<std::string_view, 2> kRenamed = {".llvm.", ".lto_priv."};

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The function whose copy or piece this is; empty: it is none.
std::string_view whole_of(std::string_view name) {
  size_t first = std::string_view::npos;
  for (std::string_view kind : kPieces)
    first = std::min(first, name.find(kind, 1));
  return first == std::string_view::npos ? std::string_view() : name.substr(0, first);
}

std::string_view base_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_function(const elf::Symbol& symbol) {
  return symbol.type() == STT_FUNC || symbol.type() == STT_GNU_IFUNC;
}
bool is_variable(const elf::Symbol& symbol) {
  return symbol.type() == STT_OBJECT || symbol.type() == STT_TLS || symbol.type() == STT_COMMON;
}

// Is it this name, or what link-time optimisation makes of it?
bool is_renamed(std::string_view found, std::string_view name) {
  if (!found.starts_with(name)) return false;
  std::string_view rest = found.substr(name.size());
  return rest.empty() || std::ranges::any_of(kRenamed, [&](std::string_view infix) {
           return rest.starts_with(infix) && is_digits(rest.substr(infix.size()));
         });
}

Place none(std::string why) {
  return {Place::Kind::none, 0, 0, std::move(why)};
}

} // namespace

std::string_view plain_name(std::string_view name) {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || !is_digits(name.substr(dot + 1))) return name;
  std::string_view plain = name.substr(0, dot);
  for (std::string_view infix : kRenamed)
    if (plain.ends_with(infix.substr(0, infix.size() - 1))) plain.remove_suffix(infix.size() - 1);
  return plain;
}

bool are_same_constructor(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || !a.starts_with("_Z")) return false;
  auto [in_a, in_b] = std::ranges::mismatch(a, b);
  if (in_a == a.end()) return true;
  auto at = static_cast<size_t>(in_a - a.begin());
  auto is_kind = [](char c) { return c >= '0' && c <= '5'; };
  return at > 0 && (a[at - 1] == 'C' || a[at - 1] == 'D') && is_kind(a[at]) && is_kind(b[at]) &&
         a.substr(at + 1) == b.substr(at + 1);
}

ProgramSymbols::ProgramSymbols(const ProgramFile& file, const std::string& path)
    : file_(file), path_(path), read_only_(file.elf()) {
  sources_.emplace_back();
  std::vector<elf::Symbol> dynamic = file.elf().dynamic_symbols();
  entries_.reserve(file.elf().symbols().size() + dynamic.size());
  add(file.elf().symbols());
  add(dynamic);
  sort_by_address();
}

void ProgramSymbols::add(const std::vector<elf::Symbol>& symbols) {
  uint32_t source = 0;
  bool is_behind_files = false;
  for (const elf::Symbol& symbol : symbols) {
    if (symbol.type() == STT_FILE) {
      // GNU's linker has what was made local behind the last file, under an empty name.
      is_behind_files = symbol.name.empty();
      source = is_behind_files ? 0 : static_cast<uint32_t>(sources_.size());
      if (is_behind_files) continue;
      sources_.push_back(base_of(symbol.name));
      by_source_.add(sources_.back(), source);
      continue;
    }
    if (!symbol.in_section() || symbol.type() == STT_SECTION || symbol.name.empty()) continue;
    auto number = static_cast<uint32_t>(entries_.size());
    bool is_local = !symbol.global() && !is_behind_files && symbol.visibility() == STV_DEFAULT;
    entries_.push_back({symbol, is_local ? source : 0, is_local});
    by_name_.add(symbol.name, number);
    if (std::string_view whole = whole_of(symbol.name); is_function(symbol) && !whole.empty())
      by_whole_.add(whole, number);
    if (!is_local) continue;
    std::string_view plain = plain_name(symbol.name);
    if (plain.size() != symbol.name.size()) by_plain_name_.add(plain, number);
  }
}

void ProgramSymbols::sort_by_address() {
  for (const Entry& entry : entries_)
    if (is_function(entry.symbol))
      functions_.push_back(&entry);
    else if (is_variable(entry.symbol))
      variables_.push_back(&entry);
  auto place = [](const Entry* entry) { return std::pair(value_of(entry), entry->symbol.name); };
  std::ranges::sort(functions_, {}, place);
  std::ranges::sort(variables_, {}, place);
}

ProgramDebugInfo& ProgramSymbols::debug_info() {
  if (!debug_info_) debug_info_ = std::make_unique<ProgramDebugInfo>(path_);
  return *debug_info_;
}

Place ProgramSymbols::place_of(const Entry& entry) const {
  const elf::Symbol& symbol = entry.symbol;
  Place::Kind kind = symbol.type() == STT_FUNC        ? Place::Kind::function
                     : symbol.type() == STT_GNU_IFUNC ? Place::Kind::indirect
                     : symbol.type() == STT_TLS       ? Place::Kind::thread_local_data
                                                      : Place::Kind::data;
  // Assembly may define functions without saying that they are.
  if (symbol.type() == STT_NOTYPE &&
      (file_.elf().section(symbol.section).header.sh_flags & SHF_EXECINSTR) != 0)
    kind = Place::Kind::function;
  return {kind, symbol.raw.st_value, symbol.raw.st_size, {}};
}

Place ProgramSymbols::choose(const Candidates& candidates, std::string_view name) const {
  if (candidates.empty()) return none("the program has no '" + std::string(name) + "'");
  for (const Entry* other : candidates)
    if (other->symbol.raw.st_value != candidates[0]->symbol.raw.st_value)
      return none("the program has several '" + std::string(name) + "'");
  return place_of(*candidates[0]);
}

Place ProgramSymbols::global(std::string_view name) const {
  Candidates found;
  by_name_.find(name, [&](uint32_t number) {
    if (!entries_[number].is_local) found.push_back(&entries_[number]);
  });
  return choose(found, name);
}

// The local symbols of that name in the files that are called like the source. If there are several of those,
// or none, as behind link-time optimisation, it is not certain that what is found is of this source.
template <class Wanted>
ProgramSymbols::Candidates ProgramSymbols::local_candidates(const NameIndex& index, std::string_view name,
                                                            const std::string& source, Wanted&& wanted,
                                                            bool& is_certain) const {
  std::string_view base = base_of(source);
  size_t units = 0;
  by_source_.find(base, [&](uint32_t) { ++units; });
  is_certain = units == 1;
  Candidates found;
  index.find(name, [&](uint32_t number) {
    const Entry& entry = entries_[number];
    if (!entry.is_local || !wanted(entry.symbol)) return;
    if (units == 0 || sources_[entry.source] == base) found.push_back(&entry);
  });
  return found;
}

Place ProgramSymbols::function(const TwinFacts::Unit& unit, const TwinFacts::Function& function) {
  if (function.linkage != TwinLinkage::local) {
    Place found = global(function.symbol);
    if (found && found.kind != Place::Kind::function && found.kind != Place::Kind::indirect)
      return none("'" + function.symbol + "' is no function in the program");
    if (found) return found;
  }
  bool is_certain = false, is_certain_too = false;
  Candidates found = local_candidates(by_name_, function.symbol, unit.source, is_function, is_certain);
  Candidates renamed = local_candidates(
      by_plain_name_, function.symbol, unit.source,
      [&](const elf::Symbol& symbol) {
        return is_function(symbol) && is_renamed(symbol.name, function.symbol);
      },
      is_certain_too);
  found.insert(found.end(), renamed.begin(), renamed.end());
  Place chosen = choose(found, function.symbol);
  // Link-time optimisation makes global functions local; but a local one may be another file's.
  is_certain &= function.linkage == TwinLinkage::local;
  if (found.empty() || (chosen && is_certain)) return chosen;
  const UnitDebugInfo* info = debug_info_of(unit);
  if (info == nullptr)
    return chosen ? none("it is not known which file the program's '" + function.symbol + "' is from")
                  : chosen;
  // In one unit, no other function has the name.
  Candidates confirmed;
  for (const UnitDebugInfo::Function& known : info->functions) {
    if ((known.linkage_name.empty() ? known.name : known.linkage_name) != function.symbol) continue;
    for (const Entry* candidate : found)
      if (candidate->symbol.raw.st_value == known.address) confirmed.push_back(candidate);
  }
  if (!confirmed.empty()) return choose(confirmed, function.symbol);
  return none("the program's '" + function.symbol + "' is another one, as its debug information says");
}

Place ProgramSymbols::static_variable(const TwinFacts& facts, const TwinFacts::Static& variable) {
  std::optional<Place> known = static_by_debug_info(facts, variable);
  Place found = known ? *known : static_by_name(facts, variable);
  // Optimisers take variables apart, and keep the name for a part.
  if (found && found.size != 0 && variable.size != 0 && found.size != variable.size)
    return none("'" + variable.name + "' has " + std::to_string(found.size) + " bytes in the program, and " +
                std::to_string(variable.size) + " in the source");
  return found;
}

std::optional<Place> ProgramSymbols::static_by_debug_info(const TwinFacts& facts,
                                                          const TwinFacts::Static& variable) {
  using Where = UnitDebugInfo::Variable::Where;
  const UnitDebugInfo* info = debug_info_of(facts.unit);
  if (info == nullptr) return std::nullopt;
  std::vector<const UnitDebugInfo::Variable*> found;
  for (const UnitDebugInfo::Variable& known : info->variables)
    if (known.name == variable.name && common_tail(known.file, variable.file) > 0) found.push_back(&known);
  // Leaves those that are so, if there are any.
  auto narrow = [&](auto&& is_so) {
    bool any = std::ranges::any_of(found, is_so);
    if (any) std::erase_if(found, [&](const auto* known) { return !is_so(known); });
    return any;
  };
  auto in_function = [&](const UnitDebugInfo::Variable* known) {
    return known->function == variable.function ||
           (!variable.function.empty() && known->function_linkage_name == variable.function);
  };
  // Lines move when regions are written; then the name must do.
  auto on_line = [&](const UnitDebugInfo::Variable* known) { return known->line == variable.line; };
  auto is_one = [&] {
    return std::ranges::count_if(facts.statics, [&](const TwinFacts::Static& other) {
             return other.name == variable.name && other.function == variable.function;
           }) <= 1;
  };
  bool has_linkage_name = narrow([&](const UnitDebugInfo::Variable* known) {
    return !known->linkage_name.empty() && known->linkage_name == variable.symbol;
  });
  if (!has_linkage_name && (!narrow(in_function) || (!narrow(on_line) && !is_one()))) return std::nullopt;
  narrow([](const UnitDebugInfo::Variable* known) { return known->where != Where::nowhere; });
  for (const UnitDebugInfo::Variable* other : found)
    if (other->address != found[0]->address || other->where != found[0]->where)
      return none("the program has several '" + variable.name + "', and nothing says which one it is");
  if (found[0]->where == Where::nowhere)
    return none("'" + variable.name + "' was removed from the program by its compiler");
  Place place;
  place.kind = found[0]->where == Where::memory ? Place::Kind::data : Place::Kind::thread_local_data;
  place.address = found[0]->address;
  for (const Entry* entry : std::ranges::equal_range(variables_, place.address, {}, value_of))
    if ((entry->symbol.type() == STT_TLS) == (place.kind == Place::Kind::thread_local_data))
      place.size = entry->symbol.raw.st_size;
  return place;
}

// Without debug information: names of the C++ ABI are exact; variables outside of functions have their name;
// for one in a function f, clang writes f.x and gcc x.123, whose number says nothing. So another variable of
// that name in the unit makes it ambiguous, even if the program has only one of them: which one?
Place ProgramSymbols::static_by_name(const TwinFacts& facts, const TwinFacts::Static& variable) const {
  const std::string& source = facts.unit.source;
  auto rivals = [&](bool same_function) {
    return std::ranges::count_if(facts.statics, [&](const TwinFacts::Static& other) {
      return other.name == variable.name && other.function.empty() == variable.function.empty() &&
             (!same_function || other.function == variable.function);
    });
  };
  auto several = [&] {
    return none("the unit has several '" + variable.name + "', and nothing says which one the program's is");
  };
  bool is_certain = false, all_certain = true;
  Candidates found;
  auto look = [&](const NameIndex& index, const std::string& name, auto&& wanted) {
    Candidates more = local_candidates(
        index, name, source,
        [&](const elf::Symbol& symbol) { return is_variable(symbol) && wanted(symbol.name); }, is_certain);
    all_certain &= is_certain;
    found.insert(found.end(), more.begin(), more.end());
  };
  auto any = [](std::string_view) { return true; };
  bool is_mangled = variable.symbol.starts_with("_Z");
  const std::string& name = is_mangled                  ? variable.symbol
                            : variable.function.empty() ? variable.name
                                                        : variable.symbol;
  auto renamed = [&](std::string_view symbol) { return is_renamed(symbol, name); };
  if (is_mangled || variable.function.empty()) {
    if (!is_mangled && rivals(true) > 1) return several();
    look(by_name_, name, any);
    look(by_plain_name_, name, renamed);
  } else {
    const std::string by_clang = variable.function + "." + variable.name;
    bool has_rival_by_name = rivals(false) > 1;
    if (rivals(true) > 1) return several();
    look(by_name_, by_clang, any);
    look(by_plain_name_, by_clang, [&](std::string_view symbol) { return is_renamed(symbol, by_clang); });
    if (found.empty()) {
      look(by_plain_name_, variable.name, any);
      if (!found.empty() && has_rival_by_name) return several();
    }
  }
  Place chosen = choose(found, variable.name);
  if (chosen && !all_certain)
    return none("it is not known which file the program's '" + variable.name + "' is from");
  return chosen;
}

std::vector<std::string_view> ProgramSymbols::functions_at(uint64_t address) const {
  std::set<std::string_view> names;
  for (const Entry* entry : std::ranges::equal_range(functions_, address, {}, value_of))
    names.insert(entry->symbol.name);
  return {names.begin(), names.end()};
}

std::optional<ProgramSymbols::Function> ProgramSymbols::function_around(uint64_t address) const {
  auto next = std::ranges::upper_bound(functions_, address, {}, value_of);
  if (next == functions_.begin()) return std::nullopt;
  const elf::Symbol& symbol = (*std::prev(next))->symbol;
  if (address - symbol.raw.st_value >= std::max<uint64_t>(symbol.raw.st_size, 1)) return std::nullopt;
  return Function{symbol.name, symbol.raw.st_value, symbol.raw.st_size};
}

std::vector<ProgramSymbols::Function> ProgramSymbols::pieces(std::string_view name, uint64_t address) const {
  const Entry* whole = nullptr;
  by_name_.find(name, [&](uint32_t number) {
    const Entry& entry = entries_[number];
    if (entry.symbol.raw.st_value == address && is_function(entry.symbol)) whole = &entry;
  });
  std::vector<Function> found;
  by_whole_.find(name, [&](uint32_t number) {
    const Entry& entry = entries_[number];
    if (entry.symbol.raw.st_value == address) return;
    // Pieces of a global function are local, and of a file that is not known.
    if (whole == nullptr || !whole->is_local || !entry.is_local || entry.source == whole->source)
      found.push_back({entry.symbol.name, entry.symbol.raw.st_value, entry.symbol.raw.st_size});
  });
  std::ranges::sort(found, {}, &Function::address);
  auto same = [](const Function& a, const Function& b) { return a.address == b.address; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

} // namespace rdb::debug
