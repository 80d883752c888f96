// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The whole path is charged to the budget at one point. It lies right before an instruction that overwrites
// all flags and cannot fault (or before a cmp/test with a memory operand, which is simply done again behind
// the charge), so the guest's flags are exact wherever a fault can show them. Exits that leave the path early
// settle the difference.
#include "rdbtool/engine/translate/translation.h"

namespace rdb::engine {

namespace {

constexpr int kLongestPrefix = 12; // instructions before the charge that a link stub may repeat

} // namespace

void Translation::choose_charge_point() {
  if (!charges()) return;
  int again = -1;
  for (int i = 0; i < total_; ++i) {
    const Instruction& candidate = path_[static_cast<size_t>(i)].instruction;
    if (!candidate.writes_all_flags || is_hooked(candidate)) continue;
    if (!candidate.memory) {
      charge_index_ = i;
      return;
    }
    if (candidate.flags_again && again < 0) again = i;
  }
  charge_index_ = again;
}

void Translation::charge_over_dead_flags() {
  const Instruction& writer = *instruction_;
  map();
  if (writer.memory) copy(writer); // faults here, if at all, with the old flags
  map();
  emit_.sub_slot_flags(&state_.budget, total_);
  Patch over = emit_.jcc(kConditionSign);
  int owed_uncharged = owed_before();
  charged_ = total_;
  int owed = owed_uncharged - total_;
  map();
  describe_charge(emit_.here());
  Patch hot;
  if (counts_uses()) {
    // A basic block counts how often it is used, to become the head of a superblock. Both branches go the
    // same way out: the budget tells them apart.
    emit_.sub_slot32_flags(cache_.new_counter(), 1);
    hot = emit_.jcc(kConditionSign);
  }
  Cold leaves{Cold::Kind::leave,
              hot.field != nullptr ? ExitKind::limit_or_hot : ExitKind::limit,
              over,
              emit_.here(),
              writer.pc,
              owed};
  leaves.other_field = hot;
  later(leaves);
  map();
}

// For link stubs to this block. The charge stands before the current instruction.
void Translation::describe_charge(uint8_t* done) {
  if (flavour_ != Flavour::superblock || index_ > kLongestPrefix || watching()) return;
  std::vector<Instruction>& before = buffers_->prefix;
  for (int i = 0; i < index_ + (instruction_->memory ? 1 : 0); ++i) {
    const Instruction& instruction = path_[static_cast<size_t>(i)].instruction;
    if ((instruction.kind != Kind::plain && instruction.kind != Kind::jump) || is_hooked(instruction)) return;
    before.push_back(instruction);
  }
  charge_ = {.amount = total_, .before = cache_.keep(before), .pc = instruction_->pc, .done = done};
}

// At the start of a block in which the flags are never dead.
void Translation::charge_keeping_flags() {
  uint64_t pc = path_[0].instruction.pc;
  take_from_budget(total_, pc, 0, true);
  charged_ = total_;
  if (!counts_uses()) return;
  int32_t* counter = cache_.new_counter();
  emit_.store(&state_.spill_rcx, RCX);
  map_at(pc, -total_, kSpillRcx);
  emit_.load32(RCX, counter);
  emit_.lea_offset(RCX, -1);
  emit_.store32(counter, RCX);
  uint8_t* hot = emit_.jrcxz();
  uint8_t* cool = emit_.short_branch(0xEB, false);
  emit_.land(hot);
  Patch away = emit_.jmp();
  emit_.land(cool);
  later({Cold::Kind::leave_reload, ExitKind::hot, away, emit_.here(), pc, -total_});
  emit_.load(RCX, &state_.spill_rcx);
  map_at(pc, -total_, kSpillNone);
}

// Takes `amount` from the budget without touching flags or registers; `checked`: leaves if that makes it
// negative.
void Translation::take_from_budget(int amount, uint64_t pc, int owed, bool checked) {
  map_at(pc, owed, kSpillNone);
  emit_.store(&state_.spill_rcx, RCX);
  map_at(pc, owed, kSpillRcx);
  emit_.load(RCX, &state_.budget);
  map_at(pc, owed, kSpillRcx | kBudgetInRcx);
  emit_.lea_offset(RCX, -amount);
  map_at(pc, owed - amount, kSpillRcx | kBudgetInRcx);
  emit_.store(&state_.budget, RCX);
  map_at(pc, owed - amount, kSpillRcx);
  if (checked) {
    // The upper half is zero unless the budget is negative.
    emit_.load32(RCX, reinterpret_cast<uint8_t*>(&state_.budget) + 4);
    uint8_t* enough = emit_.jrcxz();
    Patch over = emit_.jmp();
    emit_.land(enough);
    // Resuming reloads rcx from its slot: the host leaves the slots alone.
    later({Cold::Kind::leave_reload, ExitKind::limit, over, emit_.here(), pc, owed - amount});
  }
  emit_.load(RCX, &state_.spill_rcx);
  map_at(pc, owed - amount, kSpillNone);
}

// What follows a branch off the main path: settles the charge, then goes to `target`.
void Translation::settle(Patch field, uint64_t target) {
  int owed = owed_after();
  if (owed == 0 || !charges()) {
    add_direct_exit(field, target, owed, ExitKind::direct);
    return;
  }
  const Instruction* compare = index_ > 0 ? &path_[static_cast<size_t>(index_ - 1)].instruction : nullptr;
  if (compare &&
      (!compare->flags_again || instruction_->kind != Kind::branch || unreachable_operand(*compare)))
    compare = nullptr;
  later({Cold::Kind::settle, ExitKind::direct, field, nullptr, target, owed, compare});
}

// The flags are the result of a cmp or test that can be done again.
void Translation::settle_and_compare(uint64_t target, int owed, const Instruction& compare) {
  map_at(target, owed, kSpillNone);
  emit_.sub_slot_flags(&state_.budget, owed);
  map_at(target, 0, kSpillNone);
  if (owed > 0) {
    Patch over = emit_.jcc(kConditionSign);
    later({Cold::Kind::compare_again, ExitKind::limit, over, emit_.here(), target, 0, &compare});
  }
  emit_.copy(compare);
}

bool Translation::unreachable_operand(const Instruction& instruction) const {
  if (!instruction.rip_relative) return false;
  if (fits_int32(instruction.rip_target())) return false;
  uint64_t distance = instruction.rip_target() - reinterpret_cast<uint64_t>(emit_.here());
  // Cold code follows within this block: leave a generous margin.
  return !fits_int32(distance + (1u << 20)) || !fits_int32(distance - (1u << 20)) || instruction.address32;
}

} // namespace rdb::engine
