// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Guest instructions are copied; branches become links, guards or look-ups; and the whole path is charged to
// the budget at one point. That point lies right before an instruction that overwrites all flags and cannot
// fault (or before a cmp/test with a memory operand, which is simply done again behind the charge), so the
// guest's flags are exact wherever a fault can show them. Exits that leave the path early settle the
// difference in code that is out of the way.
#include "rdbtool/engine/translate.h"

#include "rdbtool/base/error.h"
#include "rdbtool/engine/scratch.h"

#include <functional>

namespace rdb::engine {
namespace {

constexpr uint8_t kConditionSign = 8;
constexpr int kHotThreshold = 60;

bool executed_by_host(Kind kind) {
  return kind == Kind::input || kind == Kind::emulated || kind == Kind::invalid || kind == Kind::refused;
}

class Translation {
public:
  Translation(CodeCache& cache, std::span<const PathStep> path, Flavour flavour, PathEnd end)
      : cache_(cache), state_(cache.state()), emit_(cache.begin_block()),
        block_(cache.add_block(path[0].instruction.pc, flavour)), path_(path), flavour_(flavour), end_(end) {}

  Block& run() {
    total_ = static_cast<int>(path_.size());
    if (executed_by_host(path_.back().instruction.kind)) --total_;
    choose_charge_point();
    if (flavour_ != Flavour::step && charge_index_ < 0 && total_ > 0) charge_keeping_flags();
    for (index_ = 0; index_ < static_cast<int>(path_.size()); ++index_) {
      step_ = &path_[static_cast<size_t>(index_)];
      instruction_ = &step_->instruction;
      last_ = index_ + 1 == static_cast<int>(path_.size());
      if (index_ == charge_index_) charge_over_dead_flags();
      emit_instruction();
    }
    if (!closed_) leave_direct(path_.back().next, end_ == PathEnd::stop ? ExitKind::stop : ExitKind::direct);
    // Growing while it runs: a cold piece may ask for another.
    for (size_t i = 0; i < cold_.size(); ++i)
      cold_[i]();
    emit_constants();
    block_.instructions = static_cast<uint32_t>(total_);
    collect_pages();
    cache_.finish_block(block_, emit_);
    return block_;
  }

private:
  // Instructions done but not charged: before the current one, or with it.
  int owed_before() const { return index_ - charged_; }
  int owed_after() const { return index_ + 1 - charged_; }

  void choose_charge_point() {
    if (flavour_ == Flavour::step) return;
    int again = -1;
    for (int i = 0; i < total_; ++i) {
      const Instruction& candidate = path_[static_cast<size_t>(i)].instruction;
      if (!candidate.writes_all_flags) continue;
      if (!candidate.memory) {
        charge_index_ = i;
        return;
      }
      if (candidate.flags_again && again < 0) again = i;
    }
    charge_index_ = again;
  }

  void map(uint8_t spill = kSpillNone, uint8_t scratch = 0) {
    map_at(instruction_->pc, owed_before(), spill, scratch);
  }

  void map_at(uint64_t pc, int owed, uint8_t spill, uint8_t scratch = 0) {
    auto offset = static_cast<uint32_t>(emit_.here() - block_.begin);
    MapEntry entry{offset, static_cast<int16_t>(owed), spill, scratch, pc};
    if (!block_.map.empty() && block_.map.back().offset == offset)
      block_.map.back() = entry;
    else
      block_.map.push_back(entry);
  }

  // Tells the host which exit this is, and goes there.
  void leave(const Exit& exit) {
    uint32_t number = cache_.add_exit(block_, exit);
    emit_.store_imm32(&state_.exit_number, number);
    emit_.jmp_to(cache_.glue().leave);
  }

  void charge_over_dead_flags() {
    const Instruction& writer = *instruction_;
    map();
    if (writer.memory) copy(writer); // faults here, if at all, with the old flags
    map();
    emit_.sub_slot_flags(&state_.budget, total_);
    Patch over = emit_.jcc(kConditionSign);
    int owed_uncharged = owed_before();
    charged_ = total_;
    uint8_t* resume = emit_.here();
    uint64_t pc = writer.pc;
    int owed = owed_uncharged - total_;
    cold_.push_back([this, over, resume, pc, owed] {
      over.to(emit_.here());
      map_at(pc, owed, kSpillNone);
      leave({.kind = ExitKind::limit, .target = pc, .owed = owed, .resume = resume, .flags_lost = true});
    });
    map();
    if (flavour_ != Flavour::basic) return;
    // A basic block counts how often it is used, to become the head of a trace.
    emit_.sub_slot32_flags(cache_.new_counter(kHotThreshold), 1);
    Patch hot = emit_.jcc(kConditionSign);
    uint8_t* resume_hot = emit_.here();
    cold_.push_back([this, hot, resume_hot, pc, owed] {
      hot.to(emit_.here());
      map_at(pc, owed, kSpillNone);
      leave({.kind = ExitKind::hot, .target = pc, .owed = owed, .resume = resume_hot, .flags_lost = true});
    });
    map();
  }

  // At the start of a block in which the flags are never dead.
  void charge_keeping_flags() {
    uint64_t pc = path_[0].instruction.pc;
    take_from_budget(total_, pc, 0, [this, pc](uint8_t* resume) {
      leave({.kind = ExitKind::limit, .target = pc, .owed = -total_, .resume = resume});
    });
    charged_ = total_;
  }

  // Takes `amount` from the budget without touching flags or registers; at_limit emits, out of the way, what
  // is to happen when that makes it negative.
  void take_from_budget(int amount, uint64_t pc, int owed, std::function<void(uint8_t*)> at_limit) {
    map_at(pc, owed, kSpillNone);
    emit_.store(&state_.spill_rcx, RCX);
    map_at(pc, owed, kSpillRcx);
    emit_.load(RCX, &state_.budget);
    map_at(pc, owed, kSpillRcx | kBudgetInRcx);
    emit_.lea_offset(RCX, -amount);
    emit_.store(&state_.budget, RCX);
    map_at(pc, owed - amount, kSpillRcx);
    if (at_limit) {
      // The upper half is zero unless the budget is negative.
      emit_.load32(RCX, reinterpret_cast<uint8_t*>(&state_.budget) + 4);
      uint8_t* enough = emit_.jrcxz();
      Patch over = emit_.jmp();
      emit_.land(enough);
      uint8_t* resume = emit_.here();
      // Resuming reloads rcx from its slot: the host leaves the slots alone.
      cold_.push_back([this, over, resume, pc, owed, amount, at_limit] {
        over.to(emit_.here());
        map_at(pc, owed - amount, kSpillRcx);
        emit_.load(RCX, &state_.spill_rcx);
        map_at(pc, owed - amount, kSpillNone);
        at_limit(resume);
      });
    }
    emit_.load(RCX, &state_.spill_rcx);
    map_at(pc, owed - amount, kSpillNone);
  }

  void emit_instruction() {
    switch (instruction_->kind) {
    case Kind::plain:
      map();
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
      map();
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
      leave({.kind = ExitKind::system_call, .target = instruction_->end(), .owed = owed_after()});
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

  void host_exit(ExitKind kind) {
    map();
    leave({.kind = kind, .target = instruction_->pc, .owed = owed_before(), .instruction = *instruction_});
    closed_ = true;
  }

  void copy(const Instruction& instruction) {
    if (emit_.copy(instruction)) return;
    // The operand is out of reach: address it through a register that the instruction does not use.
    Gpr scratch = free_register(instruction);
    emit_.store(&state_.spill_scratch, scratch);
    map(kSpillScratch, scratch);
    emit_.mov_imm64(scratch, instruction.rip_target());
    emit_through_register(emit_, instruction, scratch);
    map_at(instruction.end(), owed_after(), kSpillScratch, scratch);
    emit_.load(scratch, &state_.spill_scratch);
    map_at(instruction.end(), owed_after(), kSpillNone);
  }

  void push_return_address() {
    uint64_t address = instruction_->end();
    if (fits_int32(address))
      emit_.push_imm32(static_cast<int32_t>(address));
    else
      constants_.push_back({emit_.push_constant(), address});
  }

  // A direct exit in the main path: `field` is its branch.
  void add_direct_exit(Patch field, uint64_t target, int owed, ExitKind kind) {
    cold_.push_back([this, field, target, owed, kind] {
      field.to(emit_.here());
      direct_tail(field, target, owed, kind);
    });
  }

  // What an unlinked direct exit does; `field` is the branch to be patched when it is linked.
  void direct_tail(Patch field, uint64_t target, int owed, ExitKind kind) {
    map_at(target, owed, kSpillNone);
    Exit exit{.kind = kind, .target = target, .owed = owed};
    if (kind == ExitKind::direct && flavour_ != Flavour::step) {
      exit.branch = field.field;
      exit.tail = emit_.here();
    }
    leave(exit);
  }

  void leave_direct(uint64_t target, ExitKind kind) {
    int owed = static_cast<int>(path_.size()) - charged_;
    if (kind == ExitKind::direct && target == block_.pc && flavour_ == Flavour::trace) {
      emit_.jmp_to(block_.entry); // a loop closes upon itself
    } else {
      add_direct_exit(emit_.jmp(), target, owed, kind);
    }
    closed_ = true;
  }

  void branch() {
    uint64_t taken = instruction_->target;
    uint64_t fall = instruction_->end();
    map();
    if (taken == fall) return;
    if (last_) {
      bool expects_taken = flavour_ == Flavour::trace && step_->next == taken;
      if (expects_taken) {
        side_exit(static_cast<uint8_t>(instruction_->condition ^ 1), fall);
      } else {
        side_exit(instruction_->condition, taken);
        if (flavour_ != Flavour::trace) {
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

  // Leaves the main path for `target` if the condition holds.
  void side_exit(uint8_t condition, uint64_t target) { settle(emit_.jcc(condition), target); }

  // What follows a branch off the main path: settles the charge, then goes to `target`.
  void settle(Patch field, uint64_t target) {
    int owed = owed_after();
    if (owed == 0 || flavour_ == Flavour::step) {
      add_direct_exit(field, target, owed, ExitKind::direct);
      return;
    }
    const Instruction* compare = index_ > 0 ? &path_[static_cast<size_t>(index_ - 1)].instruction : nullptr;
    if (compare &&
        (!compare->flags_again || instruction_->kind != Kind::branch || unreachable_operand(*compare)))
      compare = nullptr;
    cold_.push_back([this, field, target, owed, compare] {
      field.to(emit_.here());
      if (compare) {
        settle_and_compare(target, owed, *compare);
      } else {
        std::function<void(uint8_t*)> at_limit;
        if (owed > 0)
          at_limit = [this, target](uint8_t* resume) {
            leave({.kind = ExitKind::limit, .target = target, .owed = 0, .resume = resume});
          };
        take_from_budget(owed, target, owed, at_limit);
      }
      Patch link = emit_.jmp();
      link.to(emit_.here());
      direct_tail(link, target, 0, ExitKind::direct);
    });
  }

  // The flags are the result of a cmp or test that can be done again.
  void settle_and_compare(uint64_t target, int owed, const Instruction& compare) {
    map_at(target, owed, kSpillNone);
    emit_.sub_slot_flags(&state_.budget, owed);
    map_at(target, 0, kSpillNone);
    if (owed > 0) {
      Patch over = emit_.jcc(kConditionSign);
      uint8_t* resume = emit_.here();
      cold_.push_back([this, over, resume, target, &compare] {
        over.to(emit_.here());
        map_at(target, 0, kSpillNone);
        emit_.copy(compare);
        leave({.kind = ExitKind::limit, .target = target, .owed = 0, .resume = resume});
      });
    }
    emit_.copy(compare);
  }

  bool unreachable_operand(const Instruction& instruction) const {
    if (!instruction.rip_relative) return false;
    if (fits_int32(instruction.rip_target())) return false;
    uint64_t distance = instruction.rip_target() - reinterpret_cast<uint64_t>(emit_.here());
    // Cold code follows within this block: leave a generous margin.
    return !fits_int32(distance + (1u << 20)) || !fits_int32(distance - (1u << 20)) || instruction.address32;
  }

  void loop() {
    map();
    uint8_t* taken = emit_.short_branch(instruction_->opcode, instruction_->address32);
    bool expects_taken = flavour_ == Flavour::trace && step_->next == instruction_->target;
    if (expects_taken) {
      settle(emit_.jmp(), instruction_->end());
      emit_.land(taken);
    } else {
      uint8_t* fall = emit_.short_branch(0xEB, false);
      emit_.land(taken);
      settle(emit_.jmp(), instruction_->target);
      emit_.land(fall);
      if (last_ && flavour_ != Flavour::trace) leave_direct(instruction_->end(), ExitKind::direct);
    }
  }

  // Puts the target of an indirect branch into rcx, whose own value goes to its slot.
  void load_target() {
    map();
    emit_.store(&state_.spill_rcx, RCX);
    map(kSpillRcx);
    if (instruction_->kind == Kind::ret) {
      emit_.load_top_of_stack(RCX);
    } else if (!emit_.load_operand(RCX, *instruction_)) {
      emit_.mov_imm64(RCX, instruction_->rip_target());
      static constexpr uint8_t kLoad[] = {0x48, 0x8B, 0x09}; // mov rcx, [rcx]
      if (instruction_->segment) emit_.byte(instruction_->segment);
      emit_.bytes(kLoad, sizeof kLoad);
    }
    if (instruction_->kind == Kind::call_indirect) push_return_address();
    if (instruction_->kind == Kind::ret) emit_.add_rsp(8 + instruction_->pop_bytes);
  }

  void indirect() {
    load_target();
    if (flavour_ == Flavour::step) {
      emit_.store(&state_.indirect_target, RCX);
      emit_.load(RCX, &state_.spill_rcx);
      leave({.kind = ExitKind::indirect, .owed = owed_after()});
    } else {
      look_up();
    }
    closed_ = true;
  }

  // rcx: the target.
  void look_up() {
    emit_.store(&state_.spill_rax, RAX);
    emit_.hash_to_rax();
    emit_.jmp_table_rax(cache_.table_address());
  }

  // An indirect branch within a trace: goes on in the trace if the target is the expected one.
  void guard() {
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
    cold_.push_back([this, miss, expected, owed, pc] {
      miss.to(emit_.here());
      map_at(pc, owed, kSpillRcx);
      emit_.store(&state_.spill_rax, RAX);
      emit_.mov_imm64(RAX, expected);
      emit_.lea_sum(RCX, RAX);
      if (owed != 0) {
        emit_.load(RAX, &state_.budget);
        emit_.lea_offset(RAX, -owed);
        emit_.store(&state_.budget, RAX);
      }
      // An exit before the charge point checks no budget: let the host do it, or a cycle of such exits never
      // ends.
      if (owed > 0) {
        emit_.jmp_to(cache_.glue().indirect_miss);
      } else {
        emit_.hash_to_rax();
        emit_.jmp_table_rax(cache_.table_address());
      }
    });
  }

  void emit_constants() {
    while (reinterpret_cast<uint64_t>(emit_.here()) & 7)
      emit_.byte(0xCC);
    for (const Constant& constant : constants_) {
      constant.field.to(emit_.here());
      emit_.u64(constant.value);
    }
  }

  void collect_pages() {
    for (const PathStep& step : path_) {
      for (uint64_t page : {step.instruction.pc >> 12, (step.instruction.end() - 1) >> 12}) {
        bool known = false;
        for (uint64_t p : block_.pages)
          known |= p == page;
        if (!known) block_.pages.push_back(page);
      }
    }
  }

  struct Constant {
    Patch field;
    uint64_t value;
  };

  CodeCache& cache_;
  State& state_;
  Emitter emit_;
  Block& block_;
  std::span<const PathStep> path_;
  Flavour flavour_;
  PathEnd end_;

  int total_ = 0;         // instructions charged for the whole path
  int charge_index_ = -1; // the instruction before which the charge stands
  int charged_ = 0;       // what is charged at the point being emitted
  int index_ = 0;
  const PathStep* step_ = nullptr;
  const Instruction* instruction_ = nullptr;
  bool last_ = false;
  bool closed_ = false; // the main path has ended
  std::vector<std::function<void()>> cold_;
  std::vector<Constant> constants_;
};

} // namespace

Block& translate(CodeCache& cache, std::span<const PathStep> path, Flavour flavour, PathEnd end) {
  RDB_CHECK(!path.empty());
  return Translation(cache, path, flavour, end).run();
}

} // namespace rdb::engine
