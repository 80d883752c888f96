// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events of functions: finds them by name in the files that the guest maps, hooks their first instruction,
// and where somebody wants to know of the return, the one that they return to.
#include "descriptors/inspect.h"
#include "rdbtool/debug/events/events.h"

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
                .argument = this,
                .fast = &leave_fast}) {}

void Events::add_function(replay::Replayer& replayer, uint64_t address, const std::string& name,
                          const Wanted& wanted) {
  auto [place, fresh] = functions_.try_emplace(address);
  if (place->second.name.empty()) place->second.name = name;
  Audience& audience = wanted->kind == EventKind::call ? place->second.entered : place->second.returned;
  if (std::find(audience.begin(), audience.end(), wanted) == audience.end()) audience.push_back(wanted);
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
  bool is_fast = wanted->kind == EventKind::ret || wanted->fast.is_ready != nullptr;
  replayer.translator().add_hook(
      GuestAddr(address),
      {.function = entered, .argument = &function, .fast = is_fast ? &enter_fast : nullptr});
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
  std::string current;     // the source file that local symbols are of
  bool has_source = false; // the wanted one is among them; which of them global symbols are of is not told
  bool found_here = false;
  auto look = [&](const elf::Symbol& symbol) {
    if (symbol.type() == STT_FILE) {
      current = symbol.name;
      has_source |= current == source;
    }
    if (!symbol.in_section()) return;
    std::string text(symbol.name);
    if (function) {
      bool indirect = symbol.type() == STT_GNU_IFUNC;
      if ((symbol.type() != STT_FUNC && !indirect) || !matches(name, text)) return;
      uint64_t address = symbol.raw.st_value + bias;
      if (indirect)
        follow_indirect(text, address, wanted);
      else
        add_function(replayer, address, text, wanted);
      wanted->matched = true;
      return;
    }
    if ((wanted->matched && !found_here) || symbol.type() != STT_OBJECT || symbol.raw.st_size == 0) return;
    if (!source.empty() && !(symbol.global() ? has_source : source == current)) return;
    if (text != name && descriptors::readable_name(text) != name) return;
    if (found_here && symbol.raw.st_value + bias == wanted->begin) return;
    wanted->variables.push_back(symbol.global() ? text : current + ":" + text);
    if (found_here) return;
    found_here = true;
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

// Every time a file is linked to it, the dynamic linker asks which one it is.
void Events::follow_indirect(const std::string& name, uint64_t resolver, const Wanted& wanted) {
  bool known = std::any_of(indirect_.begin(), indirect_.end(), [&](const Indirect& other) {
    return other.resolver == resolver && other.wanted == wanted;
  });
  if (known) return; // in the other symbol table, or by another version
  indirect_.push_back({name, resolver, wanted});
  on_function(EventKind::ret, GuestAddr(resolver),
              [this, name, wanted](replay::Replayer& replayer, const Event& event) {
                if (!wanted->removed)
                  add_function(replayer, static_cast<uint64_t>(event.result), name, wanted);
              });
}

// For those that files are linked to already.
void Events::find_bound(replay::Replayer& replayer) {
  std::vector<Indirect> wanted = std::exchange(indirect_, {});
  if (wanted.empty()) return;
  auto file_of = [&](uint64_t address) {
    const guest::Mapping* mapping = replayer.space().find(address);
    return mapping == nullptr ? std::string() : mapping->name;
  };
  for (const replay::LoadedFile& mapped : replayer.mapped_files()) {
    try {
      ProgramFile file(mapped.copy);
      uint64_t bias = file.bias(mapped.begin.value);
      for (const ProgramFile::Slot& slot : file.function_slots())
        for (const Indirect& indirect : wanted) {
          uint64_t bound = 0;
          if (slot.name != indirect.name) continue;
          replayer.space().read(GuestAddr(slot.address + bias), &bound, sizeof bound);
          // Until then it leads into the file itself.
          if (bound != indirect.resolver && !file_of(bound).empty() &&
              file_of(bound) == file_of(indirect.resolver))
            add_function(replayer, bound, indirect.name, indirect.wanted);
        }
    } catch (const elf::Error&) {
      continue;
    }
  }
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
  indirect_.clear(); // nothing is linked to a file that is being mapped
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
  for (const replay::LoadedFile& mapped : replayer.mapped_files()) {
    try {
      ProgramFile file(mapped.copy);
      uint64_t bias = file.bias(mapped.begin.value);
      for (const Wanted& wanted : fresh)
        match(replayer, file, bias, wanted);
    } catch (const elf::Error&) {
      continue;
    }
  }
  find_bound(replayer);
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
  note_arguments(regs, pc, function);
  tell(replayer, function.entered, call_event_);
}

void Events::leave(replay::Replayer& replayer, uint64_t pc) {
  const std::vector<uint64_t>& returned = returns_.arrive(replayer, pc);
  // One that ended in a jump to another returns after that.
  for (auto address = returned.rbegin(); address != returned.rend(); ++address) {
    Function* function = functions_by_pc_.find(*address);
    if (function == nullptr) continue;
    note_result(replayer.registers(), pc, *address, *function);
    tell(replayer, function->returned, return_event_);
  }
}

} // namespace rdb::debug
