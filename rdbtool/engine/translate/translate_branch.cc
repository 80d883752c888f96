// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a path's branches go: to other blocks, linked when those exist; to the table of indirect targets; or
// on along the path, if the target is the expected one.
#include "rdbtool/engine/translate/translation.h"

namespace rdb::engine {

// A direct exit in the main path: `field` is its branch.
void Translation::add_direct_exit(Patch field, uint64_t target, int owed, ExitKind kind) {
  later({Cold::Kind::direct, kind, field, nullptr, target, owed});
}

// What an unlinked direct exit does; `field` is the branch to be patched when it is linked.
Exit& Translation::direct_tail(Patch field, uint64_t target, int owed, ExitKind kind) {
  map_at(target, owed, kSpillNone);
  Exit exit{.target = target, .owed = static_cast<int16_t>(owed), .kind = kind};
  if (kind == ExitKind::direct && charges()) {
    exit.branch = cache_.offset_of(field.field);
    exit.tail = cache_.offset_of(emit_.here());
  }
  return leave(exit);
}

void Translation::leave_direct(uint64_t target, ExitKind kind) {
  int owed = static_cast<int>(path_.size()) - charged_;
  if (kind == ExitKind::direct && target == block_.pc && flavour_ == Flavour::superblock) {
    emit_.jmp_to(block_.begin); // a loop closes upon itself
  } else {
    add_direct_exit(emit_.jmp(), target, owed, kind);
  }
  closed_ = true;
}

void Translation::branch() {
  uint64_t taken = instruction_->target;
  uint64_t fall = instruction_->end();
  map();
  if (taken == fall) return;
  if (last_) {
    bool expects_taken = flavour_ == Flavour::superblock && step_->next == taken;
    if (expects_taken) {
      side_exit(static_cast<uint8_t>(instruction_->condition ^ 1), fall);
    } else {
      side_exit(instruction_->condition, taken);
      if (flavour_ != Flavour::superblock) {
        leave_direct(fall, ExitKind::direct);
      }
    }
    return;
  }
  if (step_->next == taken)
    side_exit(static_cast<uint8_t>(instruction_->condition ^ 1), fall);
  else
    side_exit(instruction_->condition, taken);
}

void Translation::loop() {
  map();
  uint8_t* taken = emit_.short_branch(instruction_->opcode, instruction_->address32);
  bool expects_taken = flavour_ == Flavour::superblock && step_->next == instruction_->target;
  if (expects_taken) {
    settle(emit_.jmp(), instruction_->end());
    emit_.land(taken);
  } else {
    uint8_t* fall = emit_.short_branch(0xEB, false);
    emit_.land(taken);
    settle(emit_.jmp(), instruction_->target);
    emit_.land(fall);
    if (last_ && flavour_ != Flavour::superblock) leave_direct(instruction_->end(), ExitKind::direct);
  }
}

// Puts the target of an indirect branch into rcx, whose own value goes to its slot.
void Translation::load_target() {
  map();
  emit_.store(&state_.spill_rcx, RCX);
  map(kSpillRcx);
  if (instruction_->kind == Kind::ret) {
    emit_.load_top_of_stack(RCX);
  } else if (!emit_.load_operand(RCX, *instruction_)) {
    emit_.mov_imm64(RCX, instruction_->rip_target());
    emit_.load_through_rcx(instruction_->segment);
  }
  if (instruction_->kind == Kind::call_indirect) push_return_address();
  if (instruction_->kind == Kind::ret) emit_.add_rsp(8 + instruction_->pop_bytes);
}

void Translation::indirect() {
  load_target();
  note_branch();
  if (!charges()) {
    emit_.store(&state_.indirect_target, RCX);
    emit_.load(RCX, &state_.spill_rcx);
    leave({.owed = static_cast<int16_t>(owed_after()), .kind = ExitKind::indirect});
  } else {
    look_up();
  }
  closed_ = true;
}

// Where the branch is: for a target that there cannot be, which is a fault of the branch itself.
void Translation::note_branch() {
  emit_.store_imm32(&state_.indirect_from, cache_.offset_of(emit_.here()));
}

// rcx: the target.
void Translation::look_up() {
  emit_.store(&state_.spill_rax, RAX);
  emit_.hash_to_rax();
  emit_.jmp_table_rax(cache_.table_address());
}

// An indirect branch within a superblock: goes on in the superblock if the target is the expected one.
void Translation::guard() {
  uint64_t expected = step_->next;
  load_target();
  int owed = owed_after();
  bool small = fits_int32(expected);
  if (small) {
    emit_.lea_offset(RCX, static_cast<int32_t>(-expected));
  } else {
    emit_.store(&state_.spill_rax, RAX);
    emit_.mov_imm64(RAX, -expected);
    emit_.lea_sum(RCX, RAX);
    emit_.load(RAX, &state_.spill_rax);
  }
  uint8_t* match = emit_.jrcxz();
  Patch miss = emit_.jmp();
  emit_.land(match);
  emit_.load(RCX, &state_.spill_rcx);
  uint64_t pc = instruction_->pc;
  later({Cold::Kind::guard_miss, ExitKind::indirect, miss, nullptr, pc, owed, nullptr, expected});
}

void Translation::guard_miss(const Cold& cold) {
  map_at(cold.pc, cold.owed, kSpillRcx);
  note_branch();
  emit_.store(&state_.spill_rax, RAX);
  emit_.mov_imm64(RAX, cold.expected);
  emit_.lea_sum(RCX, RAX);
  if (cold.owed != 0) {
    emit_.load(RAX, &state_.budget);
    map_at(cold.pc, cold.owed, kSpillRcx | kSpillRax | kBudgetInRax);
    emit_.lea_offset(RAX, -cold.owed);
    emit_.store(&state_.budget, RAX);
    map_at(cold.pc, 0, kSpillRcx | kSpillRax);
  }
  if (cold.owed > 0) {
    // An exit before the charge point must look at the budget, or a cycle of such exits never ends.
    emit_.store(&state_.indirect_target, RCX);
    emit_.load32(RCX, reinterpret_cast<uint8_t*>(&state_.budget) + 4);
    uint8_t* enough = emit_.jrcxz();
    emit_.load(RCX, &state_.indirect_target);
    emit_.jmp_to(cache_.context_switch().indirect_miss);
    emit_.land(enough);
    emit_.load(RCX, &state_.indirect_target);
  }
  emit_.hash_to_rax();
  emit_.jmp_table_rax(cache_.table_address());
}

} // namespace rdb::engine
