// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See combine.h.
#include "llvm-passes/link/combine.h"

#include "rdbtool/base/error.h"

#include <filesystem>
#include <set>
#include <tuple>

namespace rdb::link {

namespace {

using namespace rdb::descriptors;

class Combiner {
public:
  void add(const LinkedUnit& unit) {
    unit_ = &unit;
    units_.clear();
    sources_.clear();
    regions_.clear();
    activations_.clear();
    for (Unit u : unit.descriptors.units) {
      u.id = units_[u.id] = next_unit_++;
      all().units.push_back(u);
    }
    for (const Source& source : unit.descriptors.sources)
      add_source(source);
    for (Activation a : unit.descriptors.activations) {
      a.id = activations_[a.id] = next_activation_++;
      all().activations.push_back(a);
    }
    for (Entry e : unit.descriptors.entries) {
      if (!resolve(e.address)) continue;
      e.activation = activations_[e.activation];
      all().entries.push_back(e);
    }
    add_regions();
    add_arguments();
    for (Symbol s : unit.descriptors.symbols) {
      // Nothing to bind to; who uses it is told at the link (see unresolved slots).
      if (!resolve(s.address)) continue;
      if (slots_.insert(s.slot).second) all().symbols.push_back(s);
    }
  }

  Combined finish() { return std::move(result_); }

private:
  Descriptors& all() { return result_.descriptors; }

  // Replaces @K by the final address; false if the linker left the place out.
  bool resolve(Address& address) const {
    if (address.kind != Address::Kind::entry) return true;
    if (address.value >= unit_->addresses.size())
      bug("descriptors name address @{}, which is not there", address.value);
    const std::optional<uint64_t>& found = unit_->addresses[address.value];
    if (!found) return false;
    address = Address::absolute(*found);
    return true;
  }

  // A header with regions comes with every unit that includes it; its copy is kept once.
  void add_source(Source source) {
    std::string text;
    for (const SourceText& candidate : unit_->sources)
      if (candidate.id == source.id) text = candidate.text;
    auto [at, fresh] = known_sources_.try_emplace({source.path, text}, next_source_);
    sources_[source.id] = at->second;
    if (!fresh) return;
    source.id = next_source_++;
    source.copy =
        "sources/" + std::to_string(source.id) + "/" + std::filesystem::path(source.path).filename().string();
    result_.sources.push_back({source.copy, text});
    all().sources.push_back(source);
  }

  void add_regions() {
    const Descriptors& from = unit_->descriptors;
    std::map<uint32_t, unsigned> kept, dropped;
    std::map<uint32_t, std::pair<uint32_t, unsigned>> place; // region -> source, line
    for (const Region& region : from.regions)
      place[region.id] = {sources_[region.source], region.begin_line};
    instances_.clear();
    std::vector<Location> locations;
    for (Location location : from.locations) {
      bool here = resolve(location.address);
      // Two units may describe the one copy of an inline function that is left after `ld -r`.
      auto [source, line] = place[location.region];
      if (here && is_described_elsewhere(source, line, location)) here = false;
      if (!here) {
        ++dropped[location.region];
        continue;
      }
      ++kept[location.region];
      instances_.insert({location.region, location.instance});
      locations.push_back(location);
    }
    for (Region region : from.regions) {
      if (kept[region.id] == 0 && dropped[region.id] != 0) {
        region.status = Status::unused;
        region.reason = "the linker left this unit's code out of the program or took another unit's copy";
      }
      uint32_t id = regions_[region.id] = next_region_++;
      region.id = id;
      region.unit = units_[region.unit];
      region.source = sources_[region.source];
      all().regions.push_back(region);
    }
    for (Location& location : locations) {
      location.region = regions_[location.region];
      all().locations.push_back(location);
    }
    ++unit_number_;
  }

  bool is_described_elsewhere(uint32_t source, unsigned line, const Location& location) {
    auto [at, fresh] =
        owner_.try_emplace({source, line, location.side, location.address.value}, unit_number_);
    return !fresh && at->second != unit_number_;
  }

  void add_arguments() {
    for (Argument argument : unit_->descriptors.arguments) {
      if (!instances_.contains({argument.region, argument.instance})) continue;
      argument.region = regions_[argument.region];
      bool removed = false;
      for (Part& part : argument.parts) {
        removed |= !resolve(part.address);
        for (Step& step : part.steps)
          removed |= !resolve(step.address);
        if (part.cls == Class::activation) part.activation = activations_[part.activation];
      }
      if (removed) {
        Part gone{0, argument.size, Class::unavailable};
        gone.reason = "the linker left the variable out of the program";
        argument.parts = {gone};
      }
      all().arguments.push_back(std::move(argument));
    }
  }

  Combined result_;
  const LinkedUnit* unit_ = nullptr;
  unsigned unit_number_ = 0;
  uint32_t next_unit_ = 1, next_source_ = 1, next_region_ = 1, next_activation_ = 1;
  std::map<uint32_t, uint32_t> units_, sources_, regions_, activations_; // of this unit: old id -> new id
  std::set<std::pair<uint32_t, uint32_t>> instances_;                    // of this unit, kept
  std::map<std::pair<std::string, std::string>, uint32_t> known_sources_;
  std::map<std::tuple<uint32_t, unsigned, Side, uint64_t>, unsigned>
      owner_; // a place -> the unit that has it
  std::set<std::string> slots_;
};

} // namespace

Combined combine(const std::vector<LinkedUnit>& units) {
  Combiner combiner;
  for (const LinkedUnit& unit : units)
    combiner.add(unit);
  return combiner.finish();
}

} // namespace rdb::link
