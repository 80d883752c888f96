// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which functions a replay looks at, and how their twins come into memory. A twin refers to functions of
// shared libraries, so it is loaded when the first function of its unit is entered: by then the libraries are
// there.
#include "rdbtool/debug/twins/twins.h"

#include "rdbtool/base/bounded_file.h"
#include "rdbtool/base/error.h"
#include "rdbtool/base/log.h"
#include "rdbtool/base/path.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/trusted_file.h"
#include "rdbtool/debug/twins/known_functions.h"

#include <algorithm>
#include <sys/stat.h>

namespace rdb::debug {
namespace {

constexpr size_t kLargestTwin = size_t{1} << 30;
constexpr uint64_t kJumpBuffer = 200;
constexpr uint64_t kHeader = 8; // of a block: its size, and in the lowest bits what kind it is

// Whether the region can be run in place with everything that it uses.
bool is_whole_in_place(const descriptors::Descriptors& d, const descriptors::Region& region) {
  if (region.status != descriptors::Status::complete) return false;
  return std::ranges::none_of(d.arguments, [&](const descriptors::Argument& argument) {
    return argument.region == region.id &&
           std::ranges::any_of(argument.parts, [](const descriptors::Part& part) {
             return part.cls == descriptors::Class::unavailable;
           });
  });
}

// Regions that share variables run all in the twin, or all in place.
void want_sharers(const TwinFacts& facts, const AttachedBundle& attached,
                  std::map<std::string, uint32_t>& wanted) {
  std::set<uint32_t> hosts;
  for (const TwinFacts::Region& region : facts.regions)
    if (!region.shared.empty() && wanted.contains(region.debug_function)) hosts.insert(region.host);
  for (const auto& [id, selected] : attached.regions()) {
    const std::string& function = attached.descriptors().regions[selected.index].function;
    auto region = std::ranges::find(facts.regions, function, &TwinFacts::Region::debug_function);
    if (region != facts.regions.end() && !region->shared.empty() && hosts.contains(region->host))
      wanted[function] = id;
  }
}

} // namespace

Twins::Twins(const TwinOptions& options, const RegionSelection& selection, RegionRunner& runner)
    : options_(options), selection_(selection), runner_(runner) {}

Twins::~Twins() = default;

std::set<uint32_t> Twins::attach(replay::Replayer& replayer, AttachedBundle& attached,
                                 const trace::MapInput& map) {
  std::set<uint32_t> taken;
  if (options_.use == TwinUse::never) return taken;
  const descriptors::Descriptors& d = attached.descriptors();
  std::map<std::string, uint32_t> wanted; // ids of regions, by debug function
  for (const auto& [id, selected] : attached.regions()) {
    const descriptors::Region& region = d.regions[selected.index];
    if (region.function.empty()) continue;
    if (options_.use == TwinUse::always || !is_whole_in_place(d, region)) wanted[region.function] = id;
  }
  if (wanted.empty()) return taken;

  Bundled& bundled = bundles_.emplace_back();
  bundled.attached = &attached;
  bundled.begin = map.address;
  const std::string copy = replayer.trace().files().path_of(map.file);
  bundled.file = std::make_unique<ProgramFile>(copy);
  bundled.bias = attached.bundle().bias();
  for (const descriptors::Unit& unit : d.units) {
    const std::string path = attached.bundle().path() + "/twins/" + unit.key + ".o";
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) continue; // by an rdb-clang that made none
    auto object =
        std::make_unique<TwinObject>(path, read_bounded(open_trusted_file(path).get(), path, kLargestTwin));
    Unit found{.bundled = &bundled, .object = std::move(object)};
    const TwinFacts& facts = found.object->facts();
    want_sharers(facts, attached, wanted);
    for (uint32_t i = 0; i < facts.regions.size(); ++i) {
      auto region = wanted.find(facts.regions[i].debug_function);
      if (region == wanted.end()) continue;
      const AttachedBundle::SelectedRegion& selected = attached.regions().at(region->second);
      found.regions.emplace(i,
                            TwinRegion{&attached, selected.count, attached.bundle().function(selected.index),
                                       selected.index, facts.regions[i].host});
      found.with_regions.insert(facts.regions[i].host);
    }
    if (!found.regions.empty()) bundled.units.push_back(std::move(found));
  }
  if (bundled.units.empty()) {
    bundles_.pop_back();
    return taken;
  }
  bundled.symbols = std::make_unique<ProgramSymbols>(*bundled.file, copy);
  bundled.calls = std::make_unique<DirectCalls>(*bundled.symbols);
  bundled.registers = std::make_unique<EntryRegisters>(*bundled.symbols);
  for (Unit& unit : bundled.units) {
    plan(replayer, unit);
    for (const auto& [index, region] : unit.regions)
      taken.insert(d.regions[region.index].id);
  }
  return taken;
}

void Twins::plan(replay::Replayer& replayer, Unit& unit) {
  Bundled& bundled = *unit.bundled;
  const TwinFacts& facts = unit.object->facts();
  std::vector<ProgramSymbols::Place> places;
  places.reserve(facts.functions.size());
  std::map<uint32_t, std::vector<uint32_t>> folds;
  for (uint32_t i = 0; i < facts.functions.size(); ++i) {
    places.push_back(bundled.symbols->function(facts.unit, facts.functions[i]));
    if (facts.functions[i].fold) folds[*facts.functions[i].fold].push_back(i);
    if (places[i]) unit.by_entry.emplace(places[i].address + bundled.bias, i);
  }
  auto machine_calls = [&](uint32_t from, uint64_t to) -> uint64_t {
    return bundled.calls->count({facts.functions[from].symbol, places[from].address, places[from].size}, to);
  };

  HookQuestions questions;
  questions.why_no_entry = [&](uint32_t i) -> std::string {
    const TwinFacts::Function& function = facts.functions[i];
    const ProgramSymbols::Place& place = places[i];
    if (!place) return place.why;
    if (place.kind != ProgramSymbols::Place::Kind::function) return "it is an indirect function";
    if (place.size == 0) return "the program does not say how long it is";
    if (function.naked || function.coroutine || function.foreign_convention)
      return "it is not called as other functions are";
    if (function.changed) return "the compiler has changed what it takes";
    if (loops_to_entry(*bundled.file, place.address, place.size))
      return "a loop in it leads to its first instruction";
    for (std::string_view name : bundled.symbols->functions_at(place.address))
      if (name != function.symbol && !are_same_constructor(name, function.symbol) &&
          std::ranges::none_of(facts.aliases, [&](const TwinFacts::Alias& alias) {
            return alias.function == i && alias.symbol == name;
          }))
        return fmt::format("its code is that of {}, too", name);
    if (function.fold)
      for (uint32_t other : folds[*function.fold])
        if (other != i && (!places[other] || machine_calls(other, place.address) != 0))
          return fmt::format("its code may be that of {}, too", facts.functions[other].symbol);
    return "";
  };

  std::map<uint32_t, std::vector<const TwinFacts::Call*>> callees;
  for (const TwinFacts::Call& call : facts.calls)
    callees[call.caller].push_back(&call);
  // What stands in the caller's machine code besides its own source can have calls of its own.
  questions.has_all_calls = [&](uint32_t caller, uint32_t callee, uint64_t calls) {
    if (!places[caller] || places[caller].size == 0) return false;
    if (machine_calls(caller, places[callee].address) < calls) return false;
    std::set<uint32_t> inlined;
    std::vector<uint32_t> work;
    auto look = [&](uint32_t function, bool is_caller) {
      for (const TwinFacts::Call* call : callees[function]) {
        bool all = is_caller && places[call->callee] &&
                   machine_calls(caller, places[call->callee].address) >= call->count;
        if (!all && call->callee != callee && inlined.insert(call->callee).second)
          work.push_back(call->callee);
      }
    };
    look(caller, true);
    while (!work.empty()) {
      uint32_t function = work.back();
      work.pop_back();
      for (const TwinFacts::Call* call : callees[function])
        if (call->callee == callee) return false;
      look(function, false);
    }
    return true;
  };

  HookPlan plan = plan_hooks(facts, unit.with_regions, questions);
  for (const HookPlan::Missed& missed : plan.missed) {
    log_line(Topic::debug, "no twin of {}: {}", facts.functions[missed.function].symbol, missed.why);
    std::erase_if(unit.regions, [&](const auto& region) { return region.second.host == missed.function; });
    unit.with_regions.erase(missed.function);
  }
  for (PlannedHook& hook : plan.hooks) {
    for (uint32_t i = 0; i < facts.functions.size(); ++i)
      if (places[i] && machine_calls(i, places[hook.function].address) != 0)
        unit.has_direct_calls.insert(hook.function);
    const uint64_t entry = places[hook.function].address + bundled.bias;
    Hooked& hooked = bundled.hooks.emplace_back(Hooked{.twins = this,
                                                       .unit = &unit,
                                                       .function = hook.function,
                                                       .entry = entry,
                                                       .inner = std::move(hook.inner)});
    by_entry_[entry] = &hooked;
    for (NestedRun* run : {checking_.get(), showing_.get()})
      if (run != nullptr) run->watch(entry);
    replayer.translator().add_hook(GuestAddr(entry), {.function =
                                                          [](void* context, void* argument, uint64_t) {
                                                            auto& run =
                                                                *static_cast<replay::Replayer*>(context);
                                                            auto& here = *static_cast<Hooked*>(argument);
                                                            here.twins->enter(run, here);
                                                            run.settle();
                                                          },
                                                      .argument = &hooked});
  }
}

void Twins::detach(replay::Replayer& replayer, const AttachedBundle& attached) {
  for (const Bundled& bundled : bundles_) {
    if (bundled.attached != &attached) continue;
    for (const Hooked& hooked : bundled.hooks)
      if (auto found = by_entry_.find(hooked.entry); found != by_entry_.end() && found->second == &hooked) {
        by_entry_.erase(found);
        replayer.translator().remove_hook(GuestAddr(hooked.entry));
      }
  }
}

void Twins::hooked(replay::Replayer& replayer, uint64_t pc) {
  if (auto found = by_entry_.find(pc); found != by_entry_.end()) enter(replayer, *found->second);
}

void Twins::prepare_runs(replay::Replayer& replayer) {
  if (memory_) return;
  memory_ = std::make_unique<TwinMemory>();
  load_engine_ = std::make_unique<NestedEngine>(replayer.space(), Logged::loads_too);
  checking_ = std::make_unique<NestedRun>(*load_engine_);
  showing_ = std::make_unique<NestedRun>(runner_.nested().nested_engine());
  images_ = std::make_unique<ProcessImages>(
      replayer.mapped_files(), [&replayer](uint64_t address, void* to, size_t size) {
        return replayer.space().read(GuestAddr(address), to, size) == size;
      });
  find_linker_memory();
  note_released(replayer);
  answer_unwinder(*checking_, *load_engine_);
  answer_unwinder(*showing_, runner_.nested().nested_engine());
  for (const auto& [entry, hooked] : by_entry_)
    for (NestedRun* run : {checking_.get(), showing_.get()})
      run->watch(entry);
}

// The first call of a function by its name has the dynamic linker look for it: that is no doing of the
// program's.
void Twins::find_linker_memory() {
  tables_ = images_->images().tables_of_addresses();
  for (const LoadedImage& image : images_->images().images()) {
    if (!base_name(image.path).starts_with("ld-linux")) continue;
    for (const elf::Section& section : image.file->elf().sections())
      if (section.allocated() && (section.header.sh_flags & SHF_WRITE) != 0)
        tables_.push_back({section.header.sh_addr + image.bias,
                           section.header.sh_addr + section.header.sh_size + image.bias});
  }
}

// The unwinder asks the dynamic linker whose code an address is, and is told of twins' code, too.
void Twins::answer_unwinder(NestedRun& run, NestedEngine& engine) {
  std::optional<uint64_t> address = images_->images().resolved("_dl_find_object");
  if (auto found = images_->images().find("_dl_find_object"); !address && found) address = found->address;
  if (!address) return;
  run.add_stub(*address, [this, &run, &engine] {
    engine::Registers& registers = run.registers();
    const uint64_t pc = registers.gpr[engine::RDI];
    for (const Bundled& bundled : bundles_)
      for (const Unit& unit : bundled.units) {
        const TwinObject::Frames& frames = unit.object->frames();
        if (!unit.is_loaded || pc < frames.code.begin || pc >= frames.code.end) continue;
        // struct dl_find_object of glibc: flags, begin, end, link map, table.
        const uint64_t answer[] = {0, frames.code.begin, frames.code.end, 0, frames.header};
        engine.log().store(registers.gpr[engine::RSI], answer, sizeof answer);
        registers.gpr[engine::RAX] = 0;
        return true;
      }
    return false;
  });
}

// Two runs may leave different bytes in a block that they have freed, and in a jump buffer.
void Twins::note_released(replay::Replayer& replayer) {
  guest::AddressSpace& space = replayer.space();
  auto add = [&](const char* name, auto size_of) {
    std::optional<uint64_t> address = images_->images().resolved(name);
    if (auto found = images_->images().find(name); !address && found && !found->is_indirect())
      address = found->address;
    if (!address) return;
    checking_->add_stub(*address, [this, size_of] {
      const uint64_t block = checking_->registers().gpr[engine::RDI];
      if (block != 0) released_.push_back({block, block + size_of(block)});
      return false;
    });
  };
  add("free", [&space](uint64_t block) -> uint64_t {
    uint64_t size = 0;
    const guest::Mapping* mapping = space.find(block);
    if (mapping == nullptr || space.read(GuestAddr(block - kHeader), &size, sizeof size) != sizeof size)
      return 0;
    size &= ~uint64_t{7};
    return std::min(size - std::min(size, kHeader), mapping->end - block);
  });
  for (const char* name : {"_setjmp", "setjmp", "__sigsetjmp"})
    add(name, [](uint64_t) { return kJumpBuffer; });
}

void Twins::load(replay::Replayer& replayer, Unit& unit) {
  if (unit.is_loaded) return;
  unit.is_loaded = true;
  prepare_runs(replayer);
  std::optional<size_t> image = images_->find(unit.bundled->begin);
  RDB_CHECK(image.has_value());
  unit.object->load({images_->images(), *image, *unit.bundled->symbols, *memory_, *this});
  const TwinFacts& facts = unit.object->facts();
  for (uint32_t i = 0; i < facts.functions.size(); ++i)
    if (is_twins_alone(facts.functions[i]) && unit.object->can_set_callee(i))
      unit.object->set_callee(i, TwinObject::Callee::twin);
  for (const TwinObject::OutsideCall& call : unit.object->outside_calls())
    if (!is_known_to_compilers(call.name) && unit.outside.insert(call.address).second) {
      checking_->watch(call.address);
      showing_->watch(call.address);
    }
  for (const TwinFacts::Static& variable : facts.statics)
    if (ProgramSymbols::Place place = unit.bundled->symbols->static_variable(facts, variable);
        !variable.is_constant && place.kind == ProgramSymbols::Place::Kind::data)
      unit.statics.push_back(
          {place.address + unit.bundled->bias, place.address + unit.bundled->bias + variable.size});
  const OwnCode own{guest::kOwnCodeBegin, memory_->used().end};
  load_engine_->set_own_code(own);
  runner_.nested().nested_engine().set_own_code(own);
  const guest::AddressRange stubs = memory_->stubs();
  for (uint64_t at = std::max(stubs.begin, stubs_added_); at < stubs.end; at += TwinMemory::kStubSize) {
    checking_->add_stub(at, [this, at] {
      const TwinStub& stub = *memory_->stub(at);
      if (stub.kind == TwinStub::Kind::refused) checking_->refuse(stub.why);
      return true;
    });
    showing_->add_stub(at, [this, &replayer, at] { return run_region(replayer, at); });
  }
  stubs_added_ = stubs.end;
}

// The guest is at a function's entry when twins are loaded, so that a function can be called from there.
std::optional<uint64_t> Twins::run_resolver(uint64_t resolver) {
  NestedResult result;
  NestedRunOptions options{.limit = 1'000'000};
  if (checking_->run(state_, resolver, options, result) != NestedOutcome::returned) return std::nullopt;
  return result.registers.gpr[engine::RAX];
}

void Twins::report() const {
  if (!options_.reports) return;
  for (const Bundled& bundled : bundles_)
    for (const Hooked& hooked : bundled.hooks) {
      uint64_t lost = 0;
      std::string reasons;
      for (const auto& [why, count] : hooked.not_shown) {
        lost += count;
        reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", count, why);
      }
      if (lost == 0) continue;
      print_error("rdb: {} of {} calls of {} are not shown, since they could not be verified ({})\n", lost,
                  hooked.calls, hooked.unit->object->facts().functions[hooked.function].name, reasons);
    }
}

} // namespace rdb::debug
