// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events of functions: finds them by name in the files that the guest maps, hooks their first instruction,
// and where somebody wants to know of the return, the one that they return to.
#include "rdbtool/debug/events/events.h"
#include "rdbtool/debug/events/symbol_search.h"

#include <algorithm>
#include <span>
#include <utility>

namespace rdb::debug {

Events::Events(DebugSession& session)
    : returns_({.function =
                    [](void* context, void* argument, uint64_t pc) {
                      auto& events = *static_cast<Events*>(argument);
                      auto& run = *static_cast<replay::Replayer*>(context);
                      events.leave(run, pc);
                      if (events.changed_) events.arm(run);
                    },
                .argument = this,
                .fast = &leave_fast}),
      hardware_(session) {}

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
  if (is_function(wanted->kind))
    match_functions(replayer, file, bias, wanted);
  else if (!wanted->matched)
    match_variable(file, bias, wanted);
}

void Events::match_functions(replay::Replayer& replayer, const ProgramFile& file, uint64_t bias,
                             const Wanted& wanted) {
  for (const FoundFunction& found : find_functions(file.elf(), wanted->pattern)) {
    const uint64_t address = found.address + bias;
    if (found.is_indirect)
      follow_indirect(found.name, address, wanted);
    else
      add_function(replayer, address, found.name, wanted);
    wanted->matched = true;
  }
}

// The first one that has the name is watched.
void Events::match_variable(const ProgramFile& file, uint64_t bias, const Wanted& wanted) {
  std::vector<FoundVariable> found = find_variables(file.elf(), wanted->pattern);
  if (found.empty()) return;
  const FoundVariable& first = found.front();
  wanted->variables.push_back(first.name);
  for (const FoundVariable& other : std::span(found).subspan(1))
    if (other.address != first.address) wanted->variables.push_back(other.name);
  wanted->begin = first.address + bias;
  wanted->end = wanted->begin + first.size;
  wanted->matched = true;
  ranges_.add({wanted->begin, wanted->end, wanted});
  rearm_ = changed_ = true;
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
      for (const ProgramFile::FunctionSlot& slot : file.function_slots())
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
  if (!returns_wanted) returns_.clear(replayer.translator());
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
  if (!function.returned.empty()) returns_.expect(stopped_thread(replayer), pc);
  if (function.entered.empty()) return;
  note_arguments(regs, pc, function);
  tell(replayer, function.entered, call_event_);
}

void Events::leave(replay::Replayer& replayer, uint64_t pc) {
  const std::vector<uint64_t>& returned = returns_.arrive(stopped_thread(replayer), pc);
  // One that ended in a jump to another returns after that.
  for (auto address = returned.rbegin(); address != returned.rend(); ++address) {
    Function* function = functions_by_pc_.find(*address);
    if (function == nullptr) continue;
    note_result(replayer.registers(), pc, *address, *function);
    tell(replayer, function->returned, return_event_);
  }
}

} // namespace rdb::debug
