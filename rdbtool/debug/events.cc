// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events.h"

#include "descriptors/inspect.h"
#include "rdbtool/engine/operand.h"
#include "rdbtool/engine/path.h"
#include "rdbtool/guest/syscalls/table.h"

#include <algorithm>
#include <cstring>
#include <fnmatch.h>
#include <utility>

namespace rdb::debug {
namespace {

constexpr uint64_t kSyscallLength = 2;

// Does a symbol's name, as linked or as written in source, match?
bool matches(const std::string& glob, const std::string& name) {
  if (fnmatch(glob.c_str(), name.c_str(), 0) == 0) return true;
  if (!name.starts_with("_Z")) return false;
  std::string readable = descriptors::readable_name(name);
  if (fnmatch(glob.c_str(), readable.c_str(), 0) == 0) return true;
  std::string plain = readable.substr(0, readable.find('('));
  return fnmatch(glob.c_str(), plain.c_str(), 0) == 0;
}

std::vector<std::byte> bytes_at(replay::Replayer& replayer, uint64_t address, uint64_t size) {
  std::vector<std::byte> bytes(size);
  bytes.resize(replayer.space().read(GuestAddr(address), bytes.data(), size));
  return bytes;
}

bool is_access(EventKind kind) {
  return kind == EventKind::before_access || kind == EventKind::after_access;
}

bool is_function(EventKind kind) {
  return kind == EventKind::call || kind == EventKind::ret;
}

} // namespace

std::optional<int64_t> syscall_number(std::string_view name) {
  constexpr uint32_t kNumbers = 1024;
  for (uint32_t i = 0; i < kNumbers; ++i)
    if (const SyscallInfo* info = find_syscall(i); info != nullptr && info->name == name) return i;
  return std::nullopt;
}

Events::Id Events::add(Registration registration) {
  Id id = next_++;
  if (is_access(registration.kind)) {
    rearm_ = true;
    ++watches_;
  }
  if (!registration.pattern.empty()) unsearched_.push_back(id);
  registrations_[id] = std::make_shared<Registration>(std::move(registration));
  return id;
}

Events::Id Events::on_syscall(EventKind side, std::optional<int64_t> number, Callback callback) {
  return add({.kind = side, .callback = std::move(callback), .number = number});
}

Events::Id Events::on(EventKind kind, Callback callback) {
  return add({.kind = kind, .callback = std::move(callback)});
}

Events::Id Events::on_function(EventKind side, const std::string& glob, Callback callback) {
  return add({.kind = side, .callback = std::move(callback), .pattern = glob});
}

Events::Id Events::on_function(EventKind side, GuestAddr function, Callback callback) {
  Id id = add({.kind = side, .callback = std::move(callback), .matched = true});
  add_function(nullptr, function.value, "", id, side);
  return id;
}

Events::Id Events::on_access(EventKind side, GuestAddr address, uint64_t size, bool reads, bool writes,
                             Callback callback) {
  return add({.kind = side,
              .callback = std::move(callback),
              .matched = true,
              .begin = address.value,
              .end = address.value + size,
              .reads = reads,
              .writes = writes});
}

Events::Id Events::on_variable(EventKind side, const std::string& name, bool reads, bool writes,
                               Callback callback) {
  return add(
      {.kind = side, .callback = std::move(callback), .pattern = name, .reads = reads, .writes = writes});
}

bool Events::remove(Id id) {
  auto found = registrations_.find(id);
  if (found == registrations_.end()) return false;
  if (is_access(found->second->kind)) {
    rearm_ = true;
    --watches_;
  }
  registrations_.erase(found);
  // Hooks stay: without a registration they tell nobody.
  return true;
}

std::vector<std::string> Events::unmatched() const {
  std::vector<std::string> result;
  for (const auto& [id, registration] : registrations_)
    if (!registration->pattern.empty() && !registration->matched) result.push_back(registration->pattern);
  return result;
}

// The callback may remove its own registration, or any other.
void Events::tell(replay::Replayer& replayer, Id id, const Event& event) {
  auto found = registrations_.find(id);
  if (found == registrations_.end()) return;
  std::shared_ptr<Registration> registration = found->second;
  registration->callback(replayer, event);
}

void Events::tell_all(replay::Replayer& replayer, EventKind kind, const Event& event) {
  std::vector<Id> ids;
  for (const auto& [id, registration] : registrations_)
    if (registration->kind == kind && (!registration->number || *registration->number == event.number))
      ids.push_back(id);
  for (Id id : ids)
    tell(replayer, id, event);
}

void Events::add_function(replay::Replayer* replayer, uint64_t address, const std::string& name, Id id,
                          EventKind side) {
  auto [place, fresh] = functions_.try_emplace(address);
  if (place->second.name.empty()) place->second.name = name;
  std::vector<Id>& ids = side == EventKind::call ? place->second.entered : place->second.returned;
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  if (!fresh) return;
  if (replayer != nullptr)
    replayer->translator().add_hook(GuestAddr(address));
  else
    wanted_hooks_.push_back(address);
}

void Events::match(replay::Replayer& replayer, const ProgramFile& file, uint64_t bias, Id id,
                   Registration& wanted) {
  std::string name = wanted.pattern;
  std::string source;
  if (size_t colon = name.find(':'); is_access(wanted.kind) && colon != std::string::npos &&
                                     colon + 1 < name.size() && name[colon + 1] != ':') {
    source = name.substr(0, colon);
    name = name.substr(colon + 1);
  }
  std::string current; // the source file that local symbols are of
  auto look = [&](const elf::Symbol& symbol) {
    if (symbol.type() == STT_FILE) current = symbol.name;
    if (!symbol.in_section()) return;
    std::string text(symbol.name);
    if (is_function(wanted.kind)) {
      if (symbol.type() != STT_FUNC || !matches(name, text)) return;
      add_function(&replayer, symbol.raw.st_value + bias, text, id, wanted.kind);
      wanted.matched = true;
      return;
    }
    if (wanted.matched || symbol.type() != STT_OBJECT || symbol.raw.st_size == 0) return;
    if (!source.empty() && (symbol.global() || source != current)) return;
    if (text != name && descriptors::readable_name(text) != name) return;
    wanted.begin = symbol.raw.st_value + bias;
    wanted.end = wanted.begin + symbol.raw.st_size;
    wanted.matched = true;
    rearm_ = true;
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
      if (!registration->pattern.empty()) match(replayer, file, bias, id, *registration);
  } catch (const elf::Error&) {
    return; // not a program
  }
  arm(replayer);
}

// For what was registered when files were mapped already.
void Events::match_mapped(replay::Replayer& replayer) {
  std::vector<Id> ids = std::exchange(unsearched_, {});
  for (const replay::MappedFile& mapped : replayer.mapped_files()) {
    try {
      ProgramFile file(mapped.copy);
      uint64_t bias = file.bias(mapped.begin.value);
      for (Id id : ids)
        if (auto found = registrations_.find(id); found != registrations_.end())
          match(replayer, file, bias, id, *found->second);
    } catch (const elf::Error&) {
      continue;
    }
  }
}

// Brings the engine's watches and hooks up to what is registered.
void Events::arm(replay::Replayer& replayer) {
  if (!unsearched_.empty()) match_mapped(replayer);
  for (uint64_t address : wanted_hooks_)
    replayer.translator().add_hook(GuestAddr(address));
  wanted_hooks_.clear();
  if (!rearm_) return;
  rearm_ = false;
  replayer.engine().clear_watches();
  for (const auto& [id, registration] : registrations_)
    if (is_access(registration->kind) && registration->end > registration->begin)
      replayer.engine().add_watch(GuestAddr(registration->begin), registration->end - registration->begin,
                                  registration->reads, registration->writes);
}

void Events::hooked(replay::Replayer& replayer, GuestAddr pc) {
  leave(replayer, pc.value);
  auto found = functions_.find(pc.value);
  if (found != functions_.end()) enter(replayer, pc.value, found->second);
  arm(replayer);
}

void Events::enter(replay::Replayer& replayer, uint64_t pc, const Function& function) {
  const engine::Registers& regs = replayer.registers();
  Event event{.kind = EventKind::call, .pc = GuestAddr(pc), .address = GuestAddr(pc), .name = function.name};
  static constexpr engine::Gpr kArguments[6] = {engine::RDI, engine::RSI, engine::RDX,
                                                engine::RCX, engine::R8,  engine::R9};
  for (int i = 0; i < 6; ++i)
    event.arguments[i] = regs.gpr[kArguments[i]];
  const std::vector<Id> entered = function.entered;
  if (!function.returned.empty()) {
    uint64_t sp = regs.gpr[engine::RSP];
    uint64_t back;
    if (replayer.space().read(GuestAddr(sp), &back, 8) == 8) {
      auto [place, fresh] = returns_.try_emplace(back);
      if (fresh) replayer.translator().add_hook(GuestAddr(back));
      place->second.push_back({pc, replayer.thread(), sp + 8});
    }
  }
  for (Id id : entered)
    tell(replayer, id, event);
}

void Events::leave(replay::Replayer& replayer, uint64_t pc) {
  auto found = returns_.find(pc);
  if (found == returns_.end()) return;
  uint64_t sp = replayer.registers().gpr[engine::RSP];
  std::vector<uint64_t> functions;
  std::erase_if(found->second, [&](const Return& r) {
    if (r.thread != replayer.thread() || r.sp > sp) return false;
    if (r.sp == sp) functions.push_back(r.function);
    return true; // those below were left in other ways
  });
  for (uint64_t function : functions) {
    const Function& known = functions_[function];
    Event event{.kind = EventKind::ret,
                .pc = GuestAddr(pc),
                .result = static_cast<int64_t>(replayer.registers().gpr[engine::RAX]),
                .address = GuestAddr(function),
                .name = known.name};
    const std::vector<Id> returned = known.returned;
    for (Id id : returned)
      tell(replayer, id, event);
  }
}

void Events::before_input(replay::Replayer& replayer, const trace::Input& input) {
  before_call_.clear();
  // A new mapping is not a write, and the program is loaded before time begins.
  bool writes = input.kind() != trace::InputKind::kMap && replayer.now().value > 0;
  if (watches_ > 0 && writes)
    for (const auto& [id, registration] : registrations_)
      if (is_access(registration->kind) && registration->writes && registration->end > registration->begin)
        before_call_[id] = bytes_at(replayer, registration->begin, registration->end - registration->begin);
  if (input.kind() != trace::InputKind::kSyscall) return;
  guest::SystemCall call = replayer.current_call();
  std::copy(call.arguments.begin(), call.arguments.end(), call_arguments_);
  call_pc_ = replayer.registers().rip - kSyscallLength;
  Event event{.kind = EventKind::syscall_before, .pc = GuestAddr(call_pc_), .number = call.number};
  std::copy(call.arguments.begin(), call.arguments.end(), event.arguments);
  tell_all(replayer, EventKind::syscall_before, event);
}

void Events::after_input(replay::Replayer& replayer, const trace::Input& input) {
  bool is_call = input.kind() == trace::InputKind::kSyscall;
  GuestAddr pc(is_call ? call_pc_ : replayer.registers().rip);
  for (auto& [id, old] : std::exchange(before_call_, {})) {
    auto found = registrations_.find(id);
    if (found == registrations_.end()) continue;
    uint64_t begin = found->second->begin;
    std::vector<std::byte> fresh = bytes_at(replayer, begin, found->second->end - begin);
    if (fresh == old || old.empty()) continue;
    Event event{.kind = found->second->kind,
                .pc = pc,
                .address = GuestAddr(begin),
                .size = fresh.size(),
                .write = true,
                .by_system_call = true,
                .old_bytes = old,
                .new_bytes = fresh};
    tell(replayer, id, event);
  }
  Event event{.kind = EventKind::signal, .pc = pc};
  switch (input.kind()) {
  case trace::InputKind::kSyscall: {
    const auto& call = input.as<trace::SyscallInput>();
    event.kind = EventKind::syscall_after;
    event.number = call.number;
    event.result = call.result;
    std::copy(call_arguments_, call_arguments_ + 6, event.arguments);
    break;
  }
  case trace::InputKind::kSignal:
    event.number = input.as<trace::SignalInput>().number;
    break;
  case trace::InputKind::kThreadStart:
    event.kind = EventKind::thread_start;
    event.number = input.as<trace::ThreadStartInput>().created.value;
    break;
  case trace::InputKind::kThreadEnd:
    event.kind = EventKind::thread_end;
    event.number = replayer.thread().value;
    break;
  default:
    arm(replayer);
    return;
  }
  tell_all(replayer, event.kind, event);
  arm(replayer);
}

// Which registered ranges does the next instruction touch as they want to know?
std::vector<Events::Touch> Events::touched_by(replay::Replayer& replayer) const {
  std::vector<Touch> result;
  engine::Path one;
  engine::find_basic(replayer.space(), {}, replayer.registers().rip, 1, one);
  if (one.steps.empty()) return result;
  std::vector<engine::MemoryAccess> accesses =
      engine::memory_accesses(one.steps[0].instruction, replayer.registers());
  for (const auto& [id, r] : registrations_) {
    if (!is_access(r->kind)) continue;
    bool touched = false, written = false;
    for (const engine::MemoryAccess& access : accesses) {
      if (access.address >= r->end || access.address + access.size <= r->begin) continue;
      touched |= (access.read && r->reads) || (access.write && r->writes);
      written |= access.write;
    }
    if (touched) result.push_back({id, written, bytes_at(replayer, r->begin, r->end - r->begin)});
  }
  return result;
}

void Events::tell_access(replay::Replayer& replayer, EventKind side, uint64_t pc,
                         const std::vector<Touch>& touches) {
  for (const Touch& touch : touches) {
    auto found = registrations_.find(touch.id);
    if (found == registrations_.end() || found->second->kind != side) continue;
    uint64_t begin = found->second->begin;
    Event event{.kind = side,
                .pc = GuestAddr(pc),
                .address = GuestAddr(begin),
                .size = found->second->end - begin,
                .write = touch.write,
                .old_bytes = touch.old_bytes,
                .new_bytes = bytes_at(replayer, begin, found->second->end - begin)};
    tell(replayer, touch.id, event);
  }
}

// The instruction is executed here, so that "after" is right behind it.
void Events::accessed(replay::Replayer& replayer, const engine::Access&) {
  std::vector<Touch> touches = touched_by(replayer);
  uint64_t pc = replayer.registers().rip;
  tell_access(replayer, EventKind::before_access, pc, touches);
  if (replayer.engine().run(1).reason == engine::StopReason::limit)
    tell_access(replayer, EventKind::after_access, pc, touches);
  arm(replayer);
}

void Events::ended(replay::Replayer& replayer) {
  Event event{.kind = EventKind::exit, .pc = GuestAddr(replayer.registers().rip)};
  if (replayer.ending()) event.number = replayer.ending()->value;
  tell_all(replayer, EventKind::exit, event);
}

} // namespace rdb::debug
