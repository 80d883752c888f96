// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks before each access whether it may touch a watched range. Where one question can answer for all places
// near it, it does.
#include "rdbtool/base/error.h"
#include "rdbtool/engine/translate/translation.h"

#include <algorithm>
#include <cstdlib>

namespace rdb::engine {

// Before the current instruction: leaves if it may touch a watched range.
void Translation::check_accesses() {
  AccessPlan plan = access_plan(*instruction_);
  note_trap(plan);
  if (traps()) {
    forget(plan);
    return;
  }
  bool by_host =
      (plan.odd && cache_.watches().asks(plan.reads, plan.writes)) || instruction_->kind == Kind::emulated;
  for (int i = 0; i < plan.places && !by_host; ++i) {
    const AccessPlan::Place& place = plan.place[i];
    // Mostly only writes are watched, and most accesses are reads.
    if (!cache_.watches().asks(place.read, place.write)) continue;
    if (place.kind == AccessPlan::Place::Kind::constant)
      by_host = cache_.watches().touches(static_cast<uint64_t>(place.offset), place.size);
    else if (!fits_int32(static_cast<uint64_t>(place.offset)))
      by_host = true;
    else if (!asked(place))
      check_access(place);
  }
  if (by_host) {
    map();
    leave(exit_here(ExitKind::watch));
  }
  forget(plan);
}

void Translation::check_access(const AccessPlan::Place& place) {
  map();
  emit_.store(&state_.spill_rcx, RCX);
  map(kSpillRcx);
  ask(place, *instruction_, 0, WatchFilter::kLineShift, cache_.watches().lines());
  uint8_t* none = emit_.jrcxz();
  Patch maybe = emit_.jmp();
  emit_.land(none);
  asked_.push_back({place, buffers_->cold.size()});
  Cold cold{Cold::Kind::watch, ExitKind::watch, maybe, emit_.here(), instruction_->pc,
            owed_before(),     instruction_,    0,     place};
  cold.all_small = place.size <= WatchFilter::kGranule;
  later(cold);
  emit_.load(RCX, &state_.spill_rcx);
  map();
}

// By now it is known which neighbours the question was asked for.
void Translation::look_closely(const Cold& cold) {
  map_at(cold.pc, cold.owed, kSpillRcx);
  if (!cold.all_small)
    ask_about_page(cold);
  else if (!cold.alone || cold.place.kind != AccessPlan::Place::Kind::operand)
    ask_about_many(cold);
  else
    ask_about_one(cold);
}

// The page would say nothing new: its eight bytes, then the host, which goes on from here as a rule.
void Translation::ask_about_one(const Cold& cold) {
  emit_.load(RCX, &state_.spill_rcx);
  ask(cold.place, *cold.compare, 0, WatchFilter::kGranuleShift, cache_.watches().granules());
  emit_.jmp_to_if_rcxz(cold.resume);
  emit_.load(RCX, &state_.spill_rcx);
  RDB_CHECK(emit_.address_of_operand(RCX, *cold.compare));
  emit_.store(&state_.watched_address, RCX);
  emit_.load(RCX, &state_.spill_rcx);
  map_at(cold.pc, cold.owed, kSpillNone);
  Exit exit = exit_at(cold);
  exit.access_size = static_cast<uint8_t>(cold.place.size);
  exit.reads = cold.place.read;
  exit.writes = cold.place.write;
  leave(exit);
}

// The same for each eight bytes in which one of several accesses may begin; the host looks at each.
void Translation::ask_about_many(const Cold& cold) {
  std::vector<Patch> maybe;
  for (int64_t at = cold.low;; at = std::min<int64_t>(at + WatchFilter::kGranule, cold.high)) {
    emit_.load(RCX, &state_.spill_rcx);
    ask(cold.place, *cold.compare, at, WatchFilter::kGranuleShift, cache_.watches().granules());
    uint8_t* none = emit_.jrcxz();
    maybe.push_back(emit_.jmp());
    emit_.land(none);
    if (at == cold.high) break;
  }
  emit_.jmp_to(cold.resume);
  for (Patch& branch : maybe)
    branch.to(emit_.here());
  emit_.load(RCX, &state_.spill_rcx);
  map_at(cold.pc, cold.owed, kSpillNone);
  leave(exit_at(cold));
}

void Translation::ask_about_page(const Cold& cold) {
  emit_.load(RCX, &state_.spill_rcx);
  ask(cold.place, *cold.compare, 0, WatchFilter::kPageShift, cache_.watches().pages());
  emit_.jmp_to_if_rcxz(cold.resume);
  emit_.load(RCX, &state_.spill_rcx);
  map_at(cold.pc, cold.owed, kSpillNone);
  leave(exit_at(cold));
}

void Translation::ask(const AccessPlan::Place& place, const Instruction& instruction, int64_t distance,
                      uint8_t shift, uint32_t table) {
  auto offset = static_cast<int32_t>(place.offset);
  if (place.kind == AccessPlan::Place::Kind::operand) {
    RDB_CHECK(emit_.address_of_operand(RCX, instruction));
  } else if (place.kind == AccessPlan::Place::Kind::tls) {
    emit_.lea_rcx_fs(offset);
    if (place.has_base) emit_.lea_rcx_sum(place.base);
  } else {
    emit_.lea_rcx(place.base, offset);
  }
  if (distance != 0) emit_.lea_offset(RCX, static_cast<int32_t>(distance));
  emit_.ask_table_rcx(shift, table);
}

// Places differ by a constant if they are found through the same registers.
bool Translation::asked(const AccessPlan::Place& place) {
  for (Asked& known : asked_) {
    const AccessPlan::Place& other = known.place;
    bool same_way =
        place.has_base == other.has_base && (!place.has_base || place.base == other.base) &&
        place.indexed == other.indexed &&
        (!place.indexed || (place.index == other.index && place.scale == other.scale)) &&
        (place.kind == AccessPlan::Place::Kind::tls) == (other.kind == AccessPlan::Place::Kind::tls);
    int64_t distance = place.offset - other.offset;
    if (!same_way || std::abs(distance) + place.size > WatchFilter::kReach) continue;
    Cold& cold = buffers_->cold[known.cold];
    cold.alone = false;
    cold.low = std::min(cold.low, distance);
    cold.high = std::max(cold.high, distance);
    cold.all_small = cold.all_small && place.size <= WatchFilter::kGranule;
    return true;
  }
  return false;
}

// What the current instruction does to the registers that were asked about.
void Translation::forget(const AccessPlan& plan) {
  int moved = plan.rsp_moves ? static_cast<int>(RSP) : plan.moved;
  int64_t change = plan.rsp_moves ? plan.rsp_change : plan.change;
  std::erase_if(asked_, [&](Asked& known) {
    AccessPlan::Place& place = known.place;
    if (place.kind == AccessPlan::Place::Kind::tls && plan.written & AccessPlan::kFsBase) return true;
    auto is_lost = [&](Gpr reg, int64_t scale) {
      if ((plan.written >> reg & 1) == 0) return false;
      if (reg != moved) return true;
      place.offset -= change * scale;
      return false;
    };
    if ((place.has_base && is_lost(place.base, 1)) || (place.indexed && is_lost(place.index, place.scale)))
      return true;
    // Out of reach for good: loops go one way.
    return std::abs(place.offset) > INT32_MAX / 2;
  });
}

} // namespace rdb::engine
