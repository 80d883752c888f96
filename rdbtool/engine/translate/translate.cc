// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main path, an instruction at a time, and the cold code behind it.
#include "rdbtool/engine/translate/translate.h"

#include "rdbtool/base/error.h"
#include "rdbtool/engine/load_log.h"
#include "rdbtool/engine/translate/scratch.h"
#include "rdbtool/engine/translate/translation.h"

#include <algorithm>

namespace rdb::engine {

namespace {

bool executed_by_host(Kind kind) {
  return kind == Kind::input || kind == Kind::emulated || kind == Kind::invalid || kind == Kind::refused;
}

} // namespace

Translation::Translation(CodeCache& cache, std::span<const PathStep> path, Flavour flavour, PathEnd end,
                         const HookSet& hooks, CodeTrust trust)
    : cache_(cache), state_(cache.state()), emit_(cache.begin_block()),
      block_(cache.add_block(path[0].instruction.pc, flavour)), path_(path), flavour_(flavour), end_(end),
      hooks_(hooks), trust_(trust) {
  static thread_local Buffers buffers;
  buffers.clear();
  buffers_ = &buffers;
}

Block& Translation::run() {
  total_ = static_cast<int>(path_.size());
  if (executed_by_host(path_.back().instruction.kind)) --total_;
  if (trust_ == CodeTrust::compared) compare_code();
  choose_charge_point();
  if (charges() && charge_index_ < 0 && total_ > 0) charge_keeping_flags();
  for (index_ = 0; index_ < static_cast<int>(path_.size()) && !closed_; ++index_) {
    step_ = &path_[static_cast<size_t>(index_)];
    instruction_ = &step_->instruction;
    last_ = index_ + 1 == static_cast<int>(path_.size());
    if (is_hooked(*instruction_)) {
      emit_hook();
      asked_.clear(); // what is watched may be changed there
    }
    if (watching()) check_accesses();
    if (index_ == charge_index_) charge_over_dead_flags();
    emit_instruction();
  }
  if (!closed_) leave_direct(path_.back().next, end_ == PathEnd::stop ? ExitKind::stop : ExitKind::direct);
  // Growing while it runs: a cold piece may ask for another.
  for (size_t i = 0; i < buffers_->cold.size(); ++i) {
    Cold cold = buffers_->cold[i];
    cold.field.to(emit_.here());
    if (cold.other_field.field != nullptr) cold.other_field.to(emit_.here());
    emit_cold(cold);
  }
  emit_constants();
  block_.instructions = static_cast<uint32_t>(path_.size());
  if (charge_.amount != 0) block_.charge = cache_.keep(charge_);
  collect_pages();
  cache_.finish_block(block_, emit_, buffers_->map, buffers_->pages);
  return block_;
}

void Translation::map_at(uint64_t pc, int owed, uint8_t spill, uint8_t scratch) {
  MapEntry entry(emit_.here() - block_.begin, pc, owed, spill, scratch);
  std::vector<MapEntry>& entries = buffers_->map;
  if (!entries.empty() && entries.back().offset() == entry.offset()) entries.pop_back();
  if (entries.empty() || !entries.back().same_state(entry)) entries.push_back(entry);
}

// Tells the host which exit this is, and goes there.
Exit& Translation::leave(const Exit& exit) {
  return leave_by(
      flavour_ == Flavour::step ? cache_.context_switch().fast_leave : cache_.context_switch().leave, exit);
}

Exit& Translation::leave_by(const uint8_t* way, const Exit& exit) {
  uint32_t number = cache_.add_exit(block_, exit);
  emit_.store_imm32(&state_.exit_number, number);
  emit_.jmp_to(way);
  return cache_.exit(number);
}

void Translation::emit_cold(const Cold& cold) {
  switch (cold.kind) {
  case Cold::Kind::leave:
    map_at(cold.pc, cold.owed, kSpillNone);
    charge_.over = emit_.here();
    leave(exit_at(cold));
    return;
  case Cold::Kind::leave_reload:
    map_at(cold.pc, cold.owed, kSpillRcx);
    emit_.load(RCX, &state_.spill_rcx);
    map_at(cold.pc, cold.owed, kSpillNone);
    leave(exit_at(cold));
    return;
  case Cold::Kind::direct:
    direct_tail(cold.field, cold.pc, cold.owed, cold.exit);
    return;
  case Cold::Kind::settle: {
    uint8_t* code = emit_.here();
    if (cold.compare)
      settle_and_compare(cold.pc, cold.owed, *cold.compare);
    else
      take_from_budget(cold.owed, cold.pc, cold.owed, cold.owed > 0);
    Patch link = emit_.jmp();
    link.to(emit_.here());
    Exit& exit = direct_tail(link, cold.pc, 0, ExitKind::direct);
    exit.side_branch = cache_.offset_of(cold.field.field);
    exit.side_code = cache_.offset_of(code);
    exit.side_owed = static_cast<int16_t>(cold.owed);
    return;
  }
  case Cold::Kind::compare_again:
    map_at(cold.pc, 0, kSpillNone);
    emit_.copy(*cold.compare);
    leave(exit_at(cold));
    return;
  case Cold::Kind::guard_miss:
    guard_miss(cold);
    return;
  case Cold::Kind::watch:
    look_closely(cold);
    return;
  }
}

Exit Translation::exit_at(const Cold& cold) const {
  return {.target = cold.pc,
          .resume = cold.resume != nullptr ? cache_.offset_of(cold.resume) : 0,
          .owed = static_cast<int16_t>(cold.owed),
          .kind = cold.exit};
}

Exit Translation::exit_here(ExitKind kind) const {
  return {.target = instruction_->pc, .owed = static_cast<int16_t>(owed_before()), .kind = kind};
}

// Calls the host and comes back.
void Translation::emit_hook() {
  map();
  const HookUse& use = hooks_.at(instruction_->pc);
  Exit& exit =
      leave_by(use.direct.fast != nullptr ? cache_.context_switch().fast_hook : cache_.context_switch().hook,
               exit_here(ExitKind::hook));
  if (use.direct.function != nullptr) exit.hook = &use;
  exit.resume = cache_.offset_of(emit_.here());
  map();
}

// Before an instruction that accesses memory, where that is logged. A step is logged by the host.
void Translation::log_accesses() {
  if (executed_by_host(instruction_->kind)) return;
  StoreForm store = store_form(*instruction_);
  LoadForm load;
  if (state_.logs_loads) load = load_form(*instruction_);
  if (store.kind == StoreForm::Kind::host || load.by_host) {
    host_exit(ExitKind::step);
    return;
  }
  map();
  auto map_spill = [&](uint8_t spill) { map(spill); };
  for (int i = 0; i < load.places; ++i)
    emit_load_log(emit_, state_, *instruction_, load.place[i], map_spill);
  if (store.kind != StoreForm::Kind::none) emit_store_log(emit_, state_, *instruction_, store, map_spill);
}

void Translation::emit_instruction() {
  if (state_.log_cursor != 0 && flavour_ != Flavour::step) log_accesses();
  if (closed_) return;
  switch (instruction_->kind) {
  case Kind::plain:
    map(traps() ? kTraps : kSpillNone);
    copy(*instruction_);
    return;
  case Kind::jump:
    return; // the path goes on at the target, in the block or behind it
  case Kind::branch:
    branch();
    return;
  case Kind::loop:
    loop();
    return;
  case Kind::call:
    map(traps() ? kTraps : kSpillNone);
    push_return_address();
    return;
  case Kind::ret:
  case Kind::jump_indirect:
  case Kind::call_indirect:
    if (last_)
      indirect();
    else
      guard();
    return;
  case Kind::system_call:
    map();
    leave_by(charges() ? cache_.context_switch().fast_leave : cache_.context_switch().leave,
             {.target = instruction_->end(),
              .owed = static_cast<int16_t>(owed_after()),
              .kind = ExitKind::system_call});
    closed_ = true;
    return;
  case Kind::input:
    host_exit(ExitKind::input);
    return;
  case Kind::emulated:
    host_exit(ExitKind::emulated);
    return;
  case Kind::invalid:
    host_exit(ExitKind::invalid);
    return;
  case Kind::refused:
    host_exit(ExitKind::refused);
    return;
  }
}

void Translation::host_exit(ExitKind kind) {
  map();
  Exit exit = exit_here(kind);
  exit.instruction = cache_.keep(*instruction_);
  leave(exit);
  closed_ = true;
}

void Translation::copy(const Instruction& instruction) {
  if (emit_.copy(instruction)) return;
  // The operand is out of reach: address it through a register that the instruction does not use.
  Gpr scratch = free_register(instruction);
  emit_.store(&state_.spill_scratch, scratch);
  map(kSpillScratch | (traps() ? kTraps : kSpillNone), scratch);
  emit_.mov_imm64(scratch, instruction.rip_target());
  emit_through_register(emit_, instruction, scratch);
  map_at(instruction.end(), owed_after(), kSpillScratch, scratch);
  emit_.load(scratch, &state_.spill_scratch);
  map_at(instruction.end(), owed_after(), kSpillNone);
}

void Translation::push_return_address() {
  uint64_t address = instruction_->end();
  if (fits_int32(address))
    emit_.push_imm32(static_cast<int32_t>(address));
  else
    buffers_->constants.push_back({emit_.push_constant(), address});
}

void Translation::emit_constants() {
  while (reinterpret_cast<uint64_t>(emit_.here()) & 7)
    emit_.byte(0xCC);
  for (const Buffers::Constant& constant : buffers_->constants) {
    constant.field.to(emit_.here());
    emit_.u64(constant.value);
  }
}

void Translation::collect_pages() {
  std::vector<uint64_t>& pages = buffers_->pages;
  for (const PathStep& step : path_) {
    for (uint64_t page : {step.instruction.pc >> 12, (step.instruction.end() - 1) >> 12}) {
      if (!pages.empty() && pages.back() == page) continue;
      if (std::find(pages.begin(), pages.end(), page) == pages.end()) pages.push_back(page);
    }
  }
}

Block& translate(CodeCache& cache, std::span<const PathStep> path, Flavour flavour, PathEnd end,
                 const HookSet& hooks, CodeTrust trust) {
  RDB_CHECK(!path.empty());
  return Translation(cache, path, flavour, end, hooks, trust).run();
}

} // namespace rdb::engine
