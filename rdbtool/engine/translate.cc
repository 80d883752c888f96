// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Guest instructions are copied; branches become links, guards or look-ups; and the whole path is charged to
// the budget at one point. That point lies right before an instruction that overwrites all flags and cannot
// fault (or before a cmp/test with a memory operand, which is simply done again behind the charge), so the
// guest's flags are exact wherever a fault can show them. Exits that leave the path early settle the
// difference in code that is out of the way.
#include "rdbtool/engine/translate.h"

#include "rdbtool/base/error.h"
#include "rdbtool/engine/operand.h"
#include "rdbtool/engine/scratch.h"
#include "rdbtool/engine/store_log.h"

#include <algorithm>
#include <vector>

namespace rdb::engine {
namespace {

constexpr int kHotThreshold = 60;
constexpr int kLongestPrefix = 12; // instructions before the charge that a bridge may repeat

bool executed_by_host(Kind kind) {
  return kind == Kind::input || kind == Kind::emulated || kind == Kind::invalid || kind == Kind::refused;
}

// A piece of code that is emitted behind the main path, out of the way of what is executed often.
struct Cold {
  enum class Kind : uint8_t {
    leave_lost,    // at the charge: limit or hot, with the flags lost
    leave_reload,  // the same with good flags, and rcx in its slot
    direct,        // to another block
    settle,        // charges first, then goes to another block
    compare_again, // the budget is used up while settling: the flags come from `compare`
    guard_miss,
    watch, // looks more closely at an access
  } kind;
  ExitKind exit = ExitKind::direct;
  Patch field;               // the branch that comes here
  uint8_t* resume = nullptr; // where the host may go on
  uint64_t pc = 0;
  int owed = 0;
  const Instruction* compare = nullptr; // done again after settling
  uint64_t expected = 0;                // guard_miss
  AccessPlan::Place place = {};         // watch, with the instruction in `compare`
};

// Kept between translations, so that their memory is allocated once.
struct Buffers {
  std::vector<Cold> cold;
  std::vector<MapEntry> map;
  std::vector<uint64_t> pages;
  std::vector<Instruction> prefix;
  struct Constant {
    Patch field;
    uint64_t value;
  };
  std::vector<Constant> constants;

  void clear() {
    cold.clear();
    map.clear();
    pages.clear();
    prefix.clear();
    constants.clear();
  }
};

class Translation {
public:
  Translation(CodeCache& cache, std::span<const PathStep> path, Flavour flavour, PathEnd end,
              const HookSet& hooks)
      : cache_(cache), state_(cache.state()), emit_(cache.begin_block()),
        block_(cache.add_block(path[0].instruction.pc, flavour)), path_(path), flavour_(flavour), end_(end),
        hooks_(hooks) {
    static thread_local Buffers buffers;
    buffers.clear();
    buffers_ = &buffers;
  }

  Block& run() {
    total_ = static_cast<int>(path_.size());
    if (executed_by_host(path_.back().instruction.kind)) --total_;
    choose_charge_point();
    if (charges() && charge_index_ < 0 && total_ > 0) charge_keeping_flags();
    for (index_ = 0; index_ < static_cast<int>(path_.size()) && !closed_; ++index_) {
      step_ = &path_[static_cast<size_t>(index_)];
      instruction_ = &step_->instruction;
      last_ = index_ + 1 == static_cast<int>(path_.size());
      if (watching()) check_accesses();
      if (index_ == charge_index_) charge_over_dead_flags();
      emit_instruction();
    }
    if (!closed_) leave_direct(path_.back().next, end_ == PathEnd::stop ? ExitKind::stop : ExitKind::direct);
    // Growing while it runs: a cold piece may ask for another.
    for (size_t i = 0; i < buffers_->cold.size(); ++i)
      emit_cold(buffers_->cold[i]);
    emit_constants();
    block_.instructions = static_cast<uint32_t>(path_.size());
    collect_pages();
    cache_.finish_block(block_, emit_, buffers_->map, buffers_->pages);
    return block_;
  }

private:
  // Steps and units are charged by the host.
  bool charges() const { return flavour_ == Flavour::basic || flavour_ == Flavour::trace; }

  // Basic blocks become traces; where stores are logged there are none.
  bool counts_uses() const { return flavour_ == Flavour::basic && state_.log_cursor == 0; }

  // Instructions done but not charged: before the current one, or with it.
  int owed_before() const { return index_ - charged_; }
  int owed_after() const { return index_ + 1 - charged_; }

  void choose_charge_point() {
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

  void map(uint8_t spill = kSpillNone, uint8_t scratch = 0) {
    map_at(instruction_->pc, owed_before(), spill, scratch);
  }

  void map_at(uint64_t pc, int owed, uint8_t spill, uint8_t scratch = 0) {
    auto offset = static_cast<uint32_t>(emit_.here() - block_.begin);
    MapEntry entry{offset, static_cast<int16_t>(owed), spill, scratch, pc};
    std::vector<MapEntry>& entries = buffers_->map;
    if (!entries.empty() && entries.back().offset == offset)
      entries.back() = entry;
    else
      entries.push_back(entry);
  }

  // Tells the host which exit this is, and goes there.
  Exit& leave(const Exit& exit) {
    return leave_by(flavour_ == Flavour::step ? cache_.glue().quick_leave : cache_.glue().leave, exit);
  }

  Exit& leave_by(const uint8_t* way, const Exit& exit) {
    uint32_t number = cache_.add_exit(block_, exit);
    emit_.store_imm32(&state_.exit_number, number);
    emit_.jmp_to(way);
    return cache_.exit(number);
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
    later({Cold::Kind::leave_lost, ExitKind::limit, over, resume, pc, owed});
    map();
    describe_charge(resume);
    if (!counts_uses()) return;
    // A basic block counts how often it is used, to become the head of a trace.
    emit_.sub_slot32_flags(cache_.new_counter(kHotThreshold), 1);
    Patch hot = emit_.jcc(kConditionSign);
    later({Cold::Kind::leave_lost, ExitKind::hot, hot, emit_.here(), pc, owed});
    map();
  }

  // For bridges to this block. The charge stands before the current instruction.
  void describe_charge(uint8_t* done) {
    if (flavour_ != Flavour::trace || index_ > kLongestPrefix || watching()) return;
    std::vector<Instruction>& before = buffers_->prefix;
    for (int i = 0; i < index_ + (instruction_->memory ? 1 : 0); ++i) {
      const Instruction& instruction = path_[static_cast<size_t>(i)].instruction;
      if ((instruction.kind != Kind::plain && instruction.kind != Kind::jump) || is_hooked(instruction))
        return;
      before.push_back(instruction);
    }
    block_.charge = {.amount = total_, .before = cache_.keep(before), .pc = instruction_->pc, .done = done};
  }

  // At the start of a block in which the flags are never dead.
  void charge_keeping_flags() {
    uint64_t pc = path_[0].instruction.pc;
    take_from_budget(total_, pc, 0, true);
    charged_ = total_;
    if (!counts_uses()) return;
    int32_t* counter = cache_.new_counter(kHotThreshold);
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
  void take_from_budget(int amount, uint64_t pc, int owed, bool checked) {
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

  void later(const Cold& cold) { buffers_->cold.push_back(cold); }

  void emit_cold(const Cold cold) {
    cold.field.to(emit_.here());
    switch (cold.kind) {
    case Cold::Kind::leave_lost:
      map_at(cold.pc, cold.owed, kSpillNone);
      if (cold.exit == ExitKind::limit) block_.charge.over = emit_.here();
      leave({.kind = cold.exit,
             .target = cold.pc,
             .owed = cold.owed,
             .resume = cold.resume,
             .flags_lost = true});
      return;
    case Cold::Kind::leave_reload:
      map_at(cold.pc, cold.owed, kSpillRcx);
      emit_.load(RCX, &state_.spill_rcx);
      map_at(cold.pc, cold.owed, kSpillNone);
      leave({.kind = cold.exit, .target = cold.pc, .owed = cold.owed, .resume = cold.resume});
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
      exit.side_branch = cold.field.field;
      exit.side_code = code;
      exit.side_owed = cold.owed;
      return;
    }
    case Cold::Kind::compare_again:
      map_at(cold.pc, 0, kSpillNone);
      emit_.copy(*cold.compare);
      leave({.kind = ExitKind::limit, .target = cold.pc, .owed = 0, .resume = cold.resume});
      return;
    case Cold::Kind::guard_miss:
      guard_miss(cold);
      return;
    case Cold::Kind::watch:
      map_at(cold.pc, cold.owed, kSpillRcx);
      emit_.load(RCX, &state_.spill_rcx);
      ask(cold.place, *cold.compare, WatchFilter::kPageShift, cache_.watches().pages());
      emit_.jmp_to_if_rcxz(cold.resume);
      emit_.load(RCX, &state_.spill_rcx);
      map_at(cold.pc, cold.owed, kSpillNone);
      leave({.kind = ExitKind::watch, .target = cold.pc, .owed = cold.owed});
      return;
    }
  }

  bool is_hooked(const Instruction& instruction) const {
    return !hooks_.empty() && hooks_.count(instruction.pc) != 0;
  }

  // Calls the host and comes back.
  void emit_hook() {
    map();
    Exit& exit = leave({.kind = ExitKind::hook, .target = instruction_->pc, .owed = owed_before()});
    exit.resume = emit_.here();
    map();
  }

  // Before an instruction that writes memory, where stores are logged. A step is logged by the host.
  void log_store() {
    StoreForm form = store_form(*instruction_);
    if (form.kind == StoreForm::Kind::none || instruction_->kind == Kind::emulated) return;
    if (form.kind == StoreForm::Kind::host) {
      host_exit(ExitKind::step);
      return;
    }
    map();
    emit_store_log(emit_, state_, *instruction_, form, [&](uint8_t spill) { map(spill); });
  }

  bool watching() { return charges() && !cache_.watches().empty(); }

  // Before the current instruction: leaves if it may touch a watched range.
  void check_accesses() {
    AccessPlan plan = access_plan(*instruction_);
    bool by_host = plan.odd || instruction_->kind == Kind::emulated;
    for (int i = 0; i < plan.places && !by_host; ++i) {
      const AccessPlan::Place& place = plan.place[i];
      if (place.kind == AccessPlan::Place::Kind::constant)
        by_host = cache_.watches().touches(static_cast<uint64_t>(place.offset), place.size);
      else if (!fits_int32(static_cast<uint64_t>(place.offset)))
        by_host = true;
      else if (!asked(place))
        check_access(place);
    }
    if (by_host) {
      map();
      leave({.kind = ExitKind::watch, .target = instruction_->pc, .owed = owed_before()});
    }
    forget(plan);
  }

  void check_access(const AccessPlan::Place& place) {
    map();
    emit_.store(&state_.spill_rcx, RCX);
    map(kSpillRcx);
    ask(place, *instruction_, WatchFilter::kLineShift, cache_.watches().lines());
    uint8_t* none = emit_.jrcxz();
    Patch maybe = emit_.jmp();
    emit_.land(none);
    later({Cold::Kind::watch, ExitKind::watch, maybe, emit_.here(), instruction_->pc, owed_before(),
           instruction_, 0, place});
    emit_.load(RCX, &state_.spill_rcx);
    map();
    if (!place.indexed) asked_.push_back(place);
  }

  // rcx becomes zero if there is nothing watched near the place; its own value is in its slot.
  void ask(const AccessPlan::Place& place, const Instruction& instruction, uint8_t shift, uint32_t table) {
    auto offset = static_cast<int32_t>(place.offset);
    if (place.kind == AccessPlan::Place::Kind::operand) {
      RDB_CHECK(emit_.lea_operand(RCX, instruction));
    } else if (place.kind == AccessPlan::Place::Kind::tls) {
      emit_.lea_rcx_fs(offset);
      if (place.has_base) emit_.lea_rcx_sum(place.base);
    } else {
      emit_.lea_rcx(place.base, offset);
    }
    emit_.ask_table_rcx(shift, table);
  }

  // An earlier question in this path has answered for this place too.
  bool asked(const AccessPlan::Place& place) const {
    if (place.indexed) return false;
    return std::any_of(asked_.begin(), asked_.end(), [&](const AccessPlan::Place& other) {
      bool same_base =
          place.has_base == other.has_base && (!place.has_base || place.base == other.base) &&
          (place.kind == AccessPlan::Place::Kind::tls) == (other.kind == AccessPlan::Place::Kind::tls);
      return same_base && std::abs(place.offset - other.offset) + place.size <= WatchFilter::kReach;
    });
  }

  // What the current instruction does to the registers that were asked about.
  void forget(const AccessPlan& plan) {
    if (plan.rsp_moves)
      for (AccessPlan::Place& place : asked_)
        if (place.base == RSP && place.has_base) place.offset -= plan.rsp_change;
    std::erase_if(asked_, [&](const AccessPlan::Place& place) {
      if (place.kind == AccessPlan::Place::Kind::tls && plan.written & AccessPlan::kFsBase) return true;
      if (!place.has_base || (place.base == RSP && plan.rsp_moves)) return false;
      return (plan.written >> place.base & 1) != 0;
    });
  }

  void emit_instruction() {
    if (is_hooked(*instruction_)) emit_hook();
    if (state_.log_cursor != 0 && flavour_ != Flavour::step) log_store();
    if (closed_) return;
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
      leave_by(charges() ? cache_.glue().quick_leave : cache_.glue().leave,
               {.kind = ExitKind::system_call, .target = instruction_->end(), .owed = owed_after()});
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
    leave({.kind = kind,
           .target = instruction_->pc,
           .owed = owed_before(),
           .instruction = cache_.keep(*instruction_)});
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
      buffers_->constants.push_back({emit_.push_constant(), address});
  }

  // A direct exit in the main path: `field` is its branch.
  void add_direct_exit(Patch field, uint64_t target, int owed, ExitKind kind) {
    later({Cold::Kind::direct, kind, field, nullptr, target, owed});
  }

  // What an unlinked direct exit does; `field` is the branch to be patched when it is linked.
  Exit& direct_tail(Patch field, uint64_t target, int owed, ExitKind kind) {
    map_at(target, owed, kSpillNone);
    Exit exit{.kind = kind, .target = target, .owed = owed};
    if (kind == ExitKind::direct && charges()) {
      exit.branch = field.field;
      exit.tail = emit_.here();
    }
    return leave(exit);
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
  void settle_and_compare(uint64_t target, int owed, const Instruction& compare) {
    map_at(target, owed, kSpillNone);
    emit_.sub_slot_flags(&state_.budget, owed);
    map_at(target, 0, kSpillNone);
    if (owed > 0) {
      Patch over = emit_.jcc(kConditionSign);
      later({Cold::Kind::compare_again, ExitKind::limit, over, emit_.here(), target, 0, &compare});
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
    if (!charges()) {
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
    later({Cold::Kind::guard_miss, ExitKind::indirect, miss, nullptr, pc, owed, nullptr, expected});
  }

  void guard_miss(const Cold& cold) {
    map_at(cold.pc, cold.owed, kSpillRcx);
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
      emit_.jmp_to(cache_.glue().indirect_miss);
      emit_.land(enough);
      emit_.load(RCX, &state_.indirect_target);
    }
    emit_.hash_to_rax();
    emit_.jmp_table_rax(cache_.table_address());
  }

  void emit_constants() {
    while (reinterpret_cast<uint64_t>(emit_.here()) & 7)
      emit_.byte(0xCC);
    for (const Buffers::Constant& constant : buffers_->constants) {
      constant.field.to(emit_.here());
      emit_.u64(constant.value);
    }
  }

  void collect_pages() {
    std::vector<uint64_t>& pages = buffers_->pages;
    for (const PathStep& step : path_) {
      for (uint64_t page : {step.instruction.pc >> 12, (step.instruction.end() - 1) >> 12}) {
        if (!pages.empty() && pages.back() == page) continue;
        if (std::find(pages.begin(), pages.end(), page) == pages.end()) pages.push_back(page);
      }
    }
  }

  CodeCache& cache_;
  State& state_;
  Emitter emit_;
  Block& block_;
  std::span<const PathStep> path_;
  Flavour flavour_;
  PathEnd end_;
  const HookSet& hooks_;

  int total_ = 0;         // instructions charged for the whole path
  int charge_index_ = -1; // the instruction before which the charge stands
  int charged_ = 0;       // what is charged at the point being emitted
  int index_ = 0;
  const PathStep* step_ = nullptr;
  const Instruction* instruction_ = nullptr;
  bool last_ = false;
  bool closed_ = false; // the main path has ended
  Buffers* buffers_ = nullptr;
  std::vector<AccessPlan::Place> asked_; // the answers that are still good
};

} // namespace

Block& translate(CodeCache& cache, std::span<const PathStep> path, Flavour flavour, PathEnd end,
                 const HookSet& hooks) {
  RDB_CHECK(!path.empty());
  return Translation(cache, path, flavour, end, hooks).run();
}

} // namespace rdb::engine
