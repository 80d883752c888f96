// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks before each access whether it may touch a watched range. Where one question can answer for all places
// near it, it does.
#include "rdbtool/base/error.h"
#include "rdbtool/engine/translation.h"

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
  bool by_host = plan.odd || instruction_->kind == Kind::emulated;
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
  ask(place, *instruction_, WatchFilter::kLineShift, cache_.watches().lines());
  uint8_t* none = emit_.jrcxz();
  Patch maybe = emit_.jmp();
  emit_.land(none);
  // What is found through the stack or frame pointer has many neighbours.
  bool one = place.kind == AccessPlan::Place::Kind::operand && place.size <= WatchFilter::kGranule &&
             (place.indexed || !place.has_base || (place.base != RSP && place.base != RBP));
  later({one ? Cold::Kind::watch_one : Cold::Kind::watch, ExitKind::watch, maybe, emit_.here(),
         instruction_->pc, owed_before(), instruction_, 0, place});
  emit_.load(RCX, &state_.spill_rcx);
  map();
  if (!place.indexed && !one) asked_.push_back(place);
}

// The page would say nothing new: its eight bytes, then the host, which goes on from here as a rule.
void Translation::ask_about_one(const Cold& cold) {
  map_at(cold.pc, cold.owed, kSpillRcx);
  emit_.load(RCX, &state_.spill_rcx);
  ask(cold.place, *cold.compare, WatchFilter::kGranuleShift, cache_.watches().granules());
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

// rcx becomes zero if there is nothing watched near the place; its own value is in its slot.
void Translation::ask(const AccessPlan::Place& place, const Instruction& instruction, uint8_t shift,
                      uint32_t table) {
  auto offset = static_cast<int32_t>(place.offset);
  if (place.kind == AccessPlan::Place::Kind::operand) {
    RDB_CHECK(emit_.address_of_operand(RCX, instruction));
  } else if (place.kind == AccessPlan::Place::Kind::tls) {
    emit_.lea_rcx_fs(offset);
    if (place.has_base) emit_.lea_rcx_sum(place.base);
  } else {
    emit_.lea_rcx(place.base, offset);
  }
  emit_.ask_table_rcx(shift, table);
}

// An earlier question in this path has answered for this place too.
bool Translation::asked(const AccessPlan::Place& place) const {
  if (place.indexed) return false;
  return std::any_of(asked_.begin(), asked_.end(), [&](const AccessPlan::Place& other) {
    bool same_base =
        place.has_base == other.has_base && (!place.has_base || place.base == other.base) &&
        (place.kind == AccessPlan::Place::Kind::tls) == (other.kind == AccessPlan::Place::Kind::tls);
    return same_base && std::abs(place.offset - other.offset) + place.size <= WatchFilter::kReach;
  });
}

// What the current instruction does to the registers that were asked about.
void Translation::forget(const AccessPlan& plan) {
  if (plan.rsp_moves)
    for (AccessPlan::Place& place : asked_)
      if (place.base == RSP && place.has_base) place.offset -= plan.rsp_change;
  std::erase_if(asked_, [&](const AccessPlan::Place& place) {
    if (place.kind == AccessPlan::Place::Kind::tls && plan.written & AccessPlan::kFsBase) return true;
    if (!place.has_base || (place.base == RSP && plan.rsp_moves)) return false;
    return (plan.written >> place.base & 1) != 0;
  });
}

} // namespace rdb::engine
