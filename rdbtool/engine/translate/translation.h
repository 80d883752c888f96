// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One path being turned into code: what its parts (translate*.cc) share. Guest instructions are copied;
// branches become links, guards or look-ups; and the whole path is charged to the budget at one point. What
// leaves the path early is emitted behind it, out of the way of what is executed often.
#pragma once

#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/engine/translate/translate.h"

#include <vector>

namespace rdb::engine {

// A piece of code that is emitted behind the main path.
struct Cold {
  enum class Kind : uint8_t {
    leave,         // at the charge: limit or hot
    leave_reload,  // the same with rcx in its slot
    direct,        // to another block
    settle,        // charges first, then goes to another block
    compare_again, // the budget is used up while settling: the flags come from `compare`
    guard_miss,
    watch, // looks more closely at an access and its neighbours
  } kind;
  ExitKind exit = ExitKind::direct;
  Patch field;               // the branch that comes here
  uint8_t* resume = nullptr; // where the host may go on
  uint64_t pc = 0;
  int owed = 0;
  const Instruction* compare = nullptr; // done again after settling
  uint64_t expected = 0;                // guard_miss
  AccessPlan::Place place = {};         // watch, with the instruction in `compare`
  int64_t low = 0, high = 0;            // the first and last of its neighbours, from its address on
  bool all_small = false;               // they have at most eight bytes each
  bool alone = true;                    // there are none
  Patch other_field = {};               // a second branch that comes here
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
              const HookSet& hooks, CodeTrust trust);
  Block& run();

private:
  // Steps and units are charged by the host.
  bool charges() const { return flavour_ == Flavour::basic || flavour_ == Flavour::superblock; }
  // Basic blocks become superblocks, but where stores are logged or code is compared.
  bool counts_uses() const {
    return flavour_ == Flavour::basic && state_.log_cursor == 0 && trust_ == CodeTrust::watched;
  }
  // Instructions done but not charged: before the current one, or with it.
  int owed_before() const { return index_ - charged_; }
  int owed_after() const { return index_ + 1 - charged_; }
  // Before everything else: leaves if the guest's code is not what was translated.
  void compare_code();
  void choose_charge_point();
  void map(uint8_t spill = kSpillNone, uint8_t scratch = 0) {
    map_at(instruction_->pc, owed_before(), spill, scratch);
  }
  void map_at(uint64_t pc, int owed, uint8_t spill, uint8_t scratch = 0);
  // Tells the host which exit this is, and goes there.
  Exit& leave(const Exit& exit);
  Exit& leave_by(const uint8_t* way, const Exit& exit);
  void charge_over_dead_flags();
  // For link stubs to this block. The charge stands before the current instruction.
  void describe_charge(uint8_t* done);
  // At the start of a block in which the flags are never dead.
  void charge_keeping_flags();
  // Takes `amount` from the budget without touching flags or registers; `checked`: leaves if that makes it
  // negative.
  void take_from_budget(int amount, uint64_t pc, int owed, bool checked);
  void later(const Cold& cold) { buffers_->cold.push_back(cold); }
  void emit_cold(const Cold& cold);
  bool is_hooked(const Instruction& instruction) const {
    return !hooks_.empty() && hooks_.count(instruction.pc) != 0;
  }
  // What the host is told of a way out: of a cold piece, or before the current instruction.
  Exit exit_at(const Cold& cold) const;
  Exit exit_here(ExitKind kind) const;
  // Calls the host and comes back.
  void emit_hook();
  // Before an instruction that accesses memory, where that is logged. A step is logged by the host.
  void log_accesses();
  bool watching() { return charges() && !cache_.watches().empty(); }
  // The CPU tells if the current instruction writes to a watched range.
  bool traps() {
    if (!cache_.watches().trapped()) return false;
    if (asked_instruction_ != instruction_) note_trap(access_plan(*instruction_));
    return traps_;
  }
  void note_trap(const AccessPlan& plan) {
    asked_instruction_ = instruction_;
    traps_ = plan.can_trap;
  }
  // Before the current instruction: leaves if it may touch a watched range.
  void check_accesses();
  void check_access(const AccessPlan::Place& place);
  // What is done where the line of a place may be watched.
  void look_closely(const Cold& cold);
  void ask_about_one(const Cold& cold);
  void ask_about_many(const Cold& cold);
  void ask_about_page(const Cold& cold);
  // rcx becomes zero if there is nothing watched near the place; its own value is in its slot. `distance` is
  // added to the place's address.
  void ask(const AccessPlan::Place& place, const Instruction& instruction, int64_t distance, uint8_t shift,
           uint32_t table);
  // An earlier question in this path has answered for this place too.
  bool asked(const AccessPlan::Place& place);
  // What the current instruction does to the registers that were asked about.
  void forget(const AccessPlan& plan);
  void emit_instruction();
  void host_exit(ExitKind kind);
  void copy(const Instruction& instruction);
  void push_return_address();
  // A direct exit in the main path: `field` is its branch.
  void add_direct_exit(Patch field, uint64_t target, int owed, ExitKind kind);
  // What an unlinked direct exit does; `field` is the branch to be patched when it is linked.
  Exit& direct_tail(Patch field, uint64_t target, int owed, ExitKind kind);
  void leave_direct(uint64_t target, ExitKind kind);
  void branch();
  // Leaves the main path for `target` if the condition holds.
  void side_exit(uint8_t condition, uint64_t target) { settle(emit_.jcc(condition), target); }
  // What follows a branch off the main path: settles the charge, then goes to `target`.
  void settle(Patch field, uint64_t target);
  // The flags are the result of a cmp or test that can be done again.
  void settle_and_compare(uint64_t target, int owed, const Instruction& compare);
  bool unreachable_operand(const Instruction& instruction) const;
  void loop();
  // Puts the target of an indirect branch into rcx, whose own value goes to its slot.
  void load_target();
  void indirect();
  void note_branch();
  // rcx: the target.
  void look_up();
  // An indirect branch within a superblock: goes on in the superblock if the target is the expected one.
  void guard();
  void guard_miss(const Cold& cold);
  void emit_constants();
  void collect_pages();

  CodeCache& cache_;
  State& state_;
  Emitter emit_;
  Block& block_;
  std::span<const PathStep> path_;
  Flavour flavour_;
  PathEnd end_;
  const HookSet& hooks_;
  const Instruction* asked_instruction_ = nullptr; // that traps_ is about
  bool traps_ = false;
  CodeTrust trust_;

  int total_ = 0;         // instructions charged for the whole path
  int charge_index_ = -1; // the instruction before which the charge stands
  int charged_ = 0;       // what is charged at the point being emitted
  int index_ = 0;
  const PathStep* step_ = nullptr;
  const Instruction* instruction_ = nullptr;
  bool last_ = false;
  bool closed_ = false; // the main path has ended
  Charge charge_;
  Buffers* buffers_ = nullptr;
  // The answers that are still good. `cold` is what is done if the answer is not simply no.
  struct Asked {
    AccessPlan::Place place;
    size_t cold;
  };
  std::vector<Asked> asked_;
};

} // namespace rdb::engine
