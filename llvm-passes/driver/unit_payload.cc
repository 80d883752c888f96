// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/driver/unit_payload.h"

#include "llvm-passes/driver/messages.h"

#include "descriptors/descriptor.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace rdb::driver {

namespace {

using descriptors::Status;

// How a debug function fared.
struct Outcome {
  Status status = Status::complete;
  std::string reason;
};

// What became of the debug functions of a unit.
class Outcomes {
public:
  explicit Outcomes(const UnitDescription& unit)
      : unit_(unit), instances_(unit.extraction.functions.size()), lost_(unit.extraction.functions.size()) {
    for (const codegen::Instance& instance : unit.placement.instances())
      instances_[instance.function].push_back(&instance);
    for (const codegen::Lost& lost : unit.placement.lost())
      lost_[lost.function].push_back(&lost);
  }

  const std::vector<const codegen::Instance*>& instances(size_t function) const {
    return instances_[function];
  }

  Outcome of(size_t function) const {
    const extractor::DebugFunction& debug = unit_.extraction.functions[function];
    if (!debug.refused.empty()) return {Status::refused, debug.refused};
    if (!debug.unavailable.empty()) return {Status::lost, debug.unavailable};
    if (auto place = unit_.files.find_region(debug.region); place && place->region->between_cases)
      return {Status::lost, "the labels of the switch around it lead to the same code"};
    size_t placed = 0;
    size_t missing = 0;
    std::string reason;
    for (const codegen::Instance* instance : instances_[function])
      if (unit_.check.program_place(instance->label)) {
        ++placed;
      } else {
        ++missing;
        reason = fmt::format("following it would change the code of '{}'", instance->code);
      }
    for (const codegen::Lost* lost : lost_[function]) {
      ++missing;
      reason = lost->reason;
    }
    if (!unit_.placement.was_seen(function)) return {Status::unused, "the compiler left its code out"};
    if (placed == 0) return {Status::lost, reason.empty() ? "the optimiser left no place for it" : reason};
    if (missing > 0) return {Status::incomplete, reason};
    return {};
  }

private:
  const UnitDescription& unit_;
  std::vector<std::vector<const codegen::Instance*>> instances_; // by debug function
  std::vector<std::vector<const codegen::Lost*>> lost_;
};

class Writer {
public:
  explicit Writer(const UnitDescription& unit) : unit_(unit), outcomes_(unit) {}

  descriptors::Payload write() {
    descriptors::Unit record;
    record.id = 1;
    record.key = unit_.extraction.unit;
    record.source = unit_.source;
    record.directory = unit_.directory;
    record.command = unit_.command;
    out_.units.push_back(record);
    write_sources();
    for (size_t i = 0; i < unit_.extraction.functions.size(); ++i)
      write_region(i);
    order_locations();
    write_regions_without_code();
    write_slots();
    payload_.unit = unit_.extraction.unit;
    payload_.descriptors = descriptors::write(out_);
    return std::move(payload_);
  }

private:
  descriptors::Address address(ObjectPlace place) {
    payload_.addresses.push_back(
        {descriptors::AddressEntry::Kind::section, place.section, "", static_cast<int64_t>(place.offset)});
    return descriptors::Address::entry(payload_.addresses.size() - 1);
  }

  void write_sources() {
    for (const extractor::RegionFile& file : unit_.files.files()) {
      descriptors::Source record;
      record.id = file.id;
      record.path = file.path;
      for (const source::LineRange& range : file.scan.lines.removed())
        record.removed.push_back({range.first, range.last});
      out_.sources.push_back(record);
      payload_.sources.push_back({file.id, file.stripped});
    }
  }

  void write_region(size_t index) {
    const extractor::DebugFunction& debug = unit_.extraction.functions[index];
    auto place = unit_.files.find_region(debug.region);
    if (!place) return;
    described_.insert(debug.region);
    Outcome outcome = outcomes_.of(index);
    descriptors::Region record;
    record.id = static_cast<uint32_t>(index + 1);
    record.unit = 1;
    record.source = place->file->id;
    record.begin_line = place->region->begin_line;
    record.end_line = place->region->end_line;
    record.status = outcome.status;
    record.reason = outcome.reason;
    // One that has no place may run in a twin.
    bool is_of_use = outcome.status != Status::refused && debug.unavailable.empty();
    record.function = is_of_use ? debug.symbol : "";
    record.host = debug.host_name;
    record.arguments = static_cast<uint32_t>(debug.variables.size());
    out_.regions.push_back(record);
    if (outcome.status == Status::refused || outcome.status == Status::lost) return;
    std::vector<uint32_t> activations = write_activations(index);
    uint32_t number = 0;
    for (const codegen::Instance* instance : outcomes_.instances(index))
      if (auto at = unit_.check.program_place(instance->label))
        write_instance(record.id, number++, *instance, *at, debug, activations);
  }

  // Debug variables that several regions of a function share have one record each, whoever uses them.
  std::vector<uint32_t> write_activations(size_t index) {
    const extractor::DebugFunction& debug = unit_.extraction.functions[index];
    std::vector<uint32_t> ids;
    for (const extractor::Variable& variable : debug.variables) {
      if (variable.kind != extractor::Variable::Kind::kActivation) {
        ids.push_back(0);
        continue;
      }
      auto [entry, is_new] = activations_.try_emplace({debug.host, variable.key}, 0);
      if (is_new) {
        descriptors::Activation record;
        record.id = entry->second = static_cast<uint32_t>(activations_.size());
        record.name = variable.name;
        record.type = variable.type;
        record.size = variable.size;
        record.align = variable.align;
        out_.activations.push_back(record);
        write_entries(record.id, index);
      }
      ids.push_back(entry->second);
    }
    return ids;
  }

  // A new call begins at the first instruction of the function whose code this is.
  void write_entries(uint32_t activation, size_t index) {
    std::set<std::string> done;
    for (const codegen::Instance* instance : outcomes_.instances(index)) {
      if (!done.insert(instance->code).second) continue;
      const ObjectSymbol* function = unit_.program.find(instance->code, /*function=*/true);
      if (function) out_.entries.push_back({activation, descriptors::Side::before, address(function->place)});
    }
  }

  void write_instance(uint32_t region, uint32_t number, const codegen::Instance& instance, ObjectPlace at,
                      const extractor::DebugFunction& debug, const std::vector<uint32_t>& activations) {
    places_.push_back(&instance);
    out_.locations.push_back({region, number, instance.side, address(at), instance.code});
    for (size_t position = 0; position < debug.variables.size(); ++position) {
      const extractor::Variable& variable = debug.variables[position];
      descriptors::Argument record;
      record.region = region;
      record.instance = number;
      record.position = static_cast<uint32_t>(position);
      record.name = variable.name;
      record.type = variable.type;
      record.size = variable.size;
      record.align = variable.align;
      record.parts = whole(instance.arguments[position], variable.size);
      for (descriptors::Part& part : record.parts)
        if (part.cls == descriptors::Class::activation) part.activation = activations[position];
      out_.arguments.push_back(record);
    }
  }

  // Regions at one address run in the order of their locations: that of the code, not that of the source.
  void order_locations() {
    std::vector<size_t> order(places_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](size_t i) { return places_[i]; });
    std::vector<descriptors::Location> ordered;
    ordered.reserve(order.size());
    for (size_t i : order)
      ordered.push_back(out_.locations[i]);
    out_.locations = std::move(ordered);
  }

  // The parts in their order, if they are the whole variable; a variable is available altogether or not at
  // all.
  static std::vector<descriptors::Part> whole(std::vector<descriptors::Part> parts, uint64_t size) {
    std::ranges::sort(parts, {}, &descriptors::Part::offset);
    if (parts.size() == 1) {
      parts[0].offset = 0;
      parts[0].size = size;
      return parts;
    }
    uint64_t covered = 0;
    std::string reason;
    for (const descriptors::Part& part : parts) {
      if (part.cls == descriptors::Class::unavailable)
        reason = part.reason;
      else if (part.cls == descriptors::Class::activation || part.offset != covered)
        reason = "only a part of it is known here";
      covered += part.size;
    }
    if (covered != size && reason.empty()) reason = "only a part of it is known here";
    if (reason.empty()) return parts;
    descriptors::Part none;
    none.size = size;
    none.reason = reason;
    return {none};
  }

  // Regions that never came to code: preprocessed out, or in a template that nobody uses.
  void write_regions_without_code() {
    uint32_t id = static_cast<uint32_t>(unit_.extraction.functions.size());
    for (const extractor::RegionFile& file : unit_.files.files())
      for (const source::Region& region : file.scan.regions) {
        if (region.kind != source::RegionKind::kBody ||
            described_.contains(file.first_region + region.number - 1))
          continue;
        descriptors::Region record;
        record.id = ++id;
        record.unit = 1;
        record.source = file.id;
        record.begin_line = region.begin_line;
        record.end_line = region.end_line;
        record.status = Status::not_compiled;
        record.reason = "in code that the compiler did not compile";
        out_.regions.push_back(record);
      }
  }

  void write_slots() {
    for (const extractor::Slot& slot : unit_.extraction.slots) {
      if (!slot.internal) continue; // by name: the link stage knows whose it is
      descriptors::Symbol record;
      record.name = slot.symbol;
      record.owner = descriptors::Owner::program;
      record.slot = slot.slot;
      record.thread_local_ = slot.thread_local_;
      for (const ObjectSymbol* symbol : unit_.program.named(slot.symbol))
        if (symbol->is_local && symbol->place.section != 0) {
          // The optimiser makes a boolean of a variable that has two values only.
          if (slot.size != 0 && symbol->size < slot.size) break;
          if (symbol->is_tls) {
            payload_.addresses.push_back({descriptors::AddressEntry::Kind::tls, 0, symbol->name, 0});
            record.address = descriptors::Address::entry(payload_.addresses.size() - 1);
          } else {
            record.address = address(symbol->place);
          }
          break;
        }
      if (record.address.kind != descriptors::Address::Kind::none) out_.symbols.push_back(record);
    }
  }

  const UnitDescription& unit_;
  Outcomes outcomes_;
  descriptors::Payload payload_;
  descriptors::Descriptors out_;
  std::vector<const codegen::Instance*> places_; // of the locations
  std::set<unsigned> described_;
  std::map<std::pair<std::string, std::string>, uint32_t> activations_;
};

} // namespace

descriptors::Payload make_payload(const UnitDescription& unit) {
  return Writer(unit).write();
}

bool report_regions(const UnitDescription& unit, LostRegions lost_regions,
                    clang::DiagnosticOptions& options) {
  using Level = clang::DiagnosticsEngine::Level;
  bool any_error = false;
  Outcomes outcomes(unit);
  for (size_t i = 0; i < unit.extraction.functions.size(); ++i) {
    const extractor::DebugFunction& debug = unit.extraction.functions[i];
    auto place = unit.files.find_region(debug.region);
    Outcome outcome = outcomes.of(i);
    if (!place || outcome.status == Status::complete || outcome.status == Status::unused) continue;
    auto say = [&](Level level, const std::string& text) {
      any_error |= level == Level::Error;
      print_message(level, *place->file, place->region->begin_line, place->region->begin_column, text,
                    options);
    };
    if (outcome.status == Status::refused) {
      say(Level::Error, "this debug region cannot be extracted: " + outcome.reason);
      continue;
    }
    if (lost_regions == LostRegions::kIgnore || options.IgnoreWarnings) continue;
    bool refuse = lost_regions == LostRegions::kRefuse;
    say(refuse ? Level::Error : Level::Warning,
        fmt::format("{} in '{}': {} [{}-Wrdb-lost-region]",
                    outcome.status == Status::lost ? "this debug region has no place"
                                                   : "this debug region lost a place",
                    debug.host_name, outcome.reason, refuse ? "-Werror," : ""));
  }
  return any_error;
}

} // namespace rdb::driver
