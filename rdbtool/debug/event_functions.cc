// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events of functions: finds them by name in the files that the guest maps, hooks their first instruction,
// and where somebody wants to know of the return, the one that they return to.
#include "descriptors/inspect.h"
#include "rdbtool/debug/events.h"

#include <algorithm>
#include <fnmatch.h>
#include <utility>

namespace rdb::debug {
namespace {

// Does a symbol's name, as linked or as written in source, match?
bool matches(const std::string& glob, const std::string& name) {
  if (fnmatch(glob.c_str(), name.c_str(), 0) == 0) return true;
  if (!name.starts_with("_Z")) return false;
  std::string readable = descriptors::readable_name(name);
  if (fnmatch(glob.c_str(), readable.c_str(), 0) == 0) return true;
  std::string plain = readable.substr(0, readable.find('('));
  return fnmatch(glob.c_str(), plain.c_str(), 0) == 0;
}

} // namespace

Events::Events()
    : returns_({.function =
                    [](void* context, void* argument, uint64_t pc) {
                      auto& events = *static_cast<Events*>(argument);
                      auto& run = *static_cast<replay::Replayer*>(context);
                      events.leave(run, pc);
                      if (events.changed_) events.arm(run);
                    },
                .argument = this}) {}

void Events::add_function(replay::Replayer& replayer, uint64_t address, const std::string& name,
                          const Wanted& wanted) {
  auto [place, fresh] = functions_.try_emplace(address);
  if (place->second.name.empty()) place->second.name = name;
  Audience& audience = wanted->kind == EventKind::call ? place->second.entered : place->second.returned;
  if (std::find(audience.begin(), audience.end(), wanted) == audience.end()) audience.push_back(wanted);
  returns_.set_silent(address, place->second.entered.empty());
  if (!fresh) return;
  Function& function = place->second;
  function.events = this;
  functions_by_pc_.set(address, &function);
  auto entered = [](void* context, void* argument, uint64_t pc) {
    auto& called = *static_cast<Function*>(argument);
    auto& run = *static_cast<replay::Replayer*>(context);
    Events& events = *called.events;
    events.enter(run, pc, called);
    if (events.changed_) events.arm(run);
  };
  replayer.translator().add_hook(
      GuestAddr(address),
      {.function = entered, .argument = &function, .quick = wanted->kind == EventKind::ret});
}

void Events::match(replay::Replayer& replayer, const ProgramFile& file, uint64_t bias, const Wanted& wanted) {
  bool function = wanted->kind == EventKind::call || wanted->kind == EventKind::ret;
  std::string name = wanted->pattern;
  std::string source;
  if (size_t colon = name.find(':');
      !function && colon != std::string::npos && colon + 1 < name.size() && name[colon + 1] != ':') {
    source = name.substr(0, colon);
    name = name.substr(colon + 1);
  }
  std::string current; // the source file that local symbols are of
  auto look = [&](const elf::Symbol& symbol) {
    if (symbol.type() == STT_FILE) current = symbol.name;
    if (!symbol.in_section()) return;
    std::string text(symbol.name);
    if (function) {
      if (symbol.type() != STT_FUNC || !matches(name, text)) return;
      add_function(replayer, symbol.raw.st_value + bias, text, wanted);
      wanted->matched = true;
      return;
    }
    if (wanted->matched || symbol.type() != STT_OBJECT || symbol.raw.st_size == 0) return;
    if (!source.empty() && (symbol.global() || source != current)) return;
    if (text != name && descriptors::readable_name(text) != name) return;
    wanted->begin = symbol.raw.st_value + bias;
    wanted->end = wanted->begin + symbol.raw.st_size;
    wanted->matched = true;
    ranges_.add({wanted->begin, wanted->end, wanted});
    rearm_ = changed_ = true;
  };
  for (const elf::Symbol& symbol : file.elf().symbols())
    look(symbol);
  for (const elf::Symbol& symbol : file.elf().dynamic_symbols())
    look(symbol);
}

void Events::mapped(replay::Replayer& replayer, const trace::MapInput& map) {
  if (!map.has_file || map.offset != 0) return;
  bool any = std::any_of(registrations_.begin(), registrations_.end(),
                         [](const auto& r) { return !r.second->pattern.empty(); });
  if (!any) return;
  try {
    ProgramFile file(replayer.trace().files().path_of(map.file));
    uint64_t bias = file.bias(map.address.value);
    for (auto& [id, registration] : registrations_)
      if (!registration->pattern.empty()) match(replayer, file, bias, registration);
  } catch (const elf::Error&) {
    return; // not a program
  }
  arm(replayer);
}

// For what was registered when files were mapped already.
void Events::match_mapped(replay::Replayer& replayer) {
  std::vector<Wanted> fresh = std::exchange(unsearched_, {});
  std::erase_if(fresh, [&](const Wanted& wanted) {
    if (wanted->function != 0) add_function(replayer, wanted->function, "", wanted);
    return wanted->function != 0;
  });
  if (fresh.empty()) return;
  for (const replay::MappedFile& mapped : replayer.mapped_files()) {
    try {
      ProgramFile file(mapped.copy);
      uint64_t bias = file.bias(mapped.begin.value);
      for (const Wanted& wanted : fresh)
        match(replayer, file, bias, wanted);
    } catch (const elf::Error&) {
      continue;
    }
  }
}

// Takes away the hooks that nobody needs any more.
void Events::forget_functions(replay::Replayer& replayer) {
  auto is_removed = [](const Wanted& wanted) { return wanted->removed; };
  bool returns_wanted = false;
  for (auto entry = functions_.begin(); entry != functions_.end();) {
    Function& function = entry->second;
    std::erase_if(function.entered, is_removed);
    std::erase_if(function.returned, is_removed);
    returns_wanted |= !function.returned.empty();
    returns_.set_silent(entry->first, function.entered.empty() && !function.returned.empty());
    if (function.entered.empty() && function.returned.empty()) {
      replayer.translator().remove_hook(GuestAddr(entry->first));
      functions_by_pc_.set(entry->first, nullptr);
      entry = functions_.erase(entry);
    } else {
      ++entry;
    }
  }
  if (!returns_wanted) returns_.clear(replayer);
}

void Events::hooked(replay::Replayer& replayer, GuestAddr pc) {
  if (!functions_.empty()) {
    leave(replayer, pc.value);
    if (Function* function = functions_by_pc_.find(pc.value)) enter(replayer, pc.value, *function);
  }
  if (changed_) arm(replayer);
}

void Events::enter(replay::Replayer& replayer, uint64_t pc, Function& function) {
  const engine::Registers& regs = replayer.registers();
  if (!function.returned.empty()) returns_.expect(replayer, pc);
  if (function.entered.empty()) return;
  Event& event = call_event_;
  event.pc = event.address = GuestAddr(pc);
  event.name = function.name.c_str();
  static constexpr engine::Gpr kArguments[6] = {engine::RDI, engine::RSI, engine::RDX,
                                                engine::RCX, engine::R8,  engine::R9};
  for (int i = 0; i < 6; ++i)
    event.arguments[i] = regs.gpr[kArguments[i]];
  tell(replayer, function.entered, event);
}

void Events::leave(replay::Replayer& replayer, uint64_t pc) {
  const std::vector<uint64_t>& returned = returns_.arrive(replayer, pc);
  // One that ended in a jump to another returns after that.
  for (auto address = returned.rbegin(); address != returned.rend(); ++address) {
    Function* function = functions_by_pc_.find(*address);
    if (function == nullptr) continue;
    Event& event = return_event_;
    event.pc = GuestAddr(pc);
    event.result = static_cast<int64_t>(replayer.registers().gpr[engine::RAX]);
    event.address = GuestAddr(*address);
    event.name = function->name.c_str();
    tell(replayer, function->returned, event);
  }
}

} // namespace rdb::debug
