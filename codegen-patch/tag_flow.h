// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows marks and writes on all paths through a function to its labels. Those that belong together form a
// group, with a state on each path: in step, write behind its mark, write ahead of it, or beyond telling.
#pragma once

#include "codegen-patch/write_tags.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace rdb::codegen {

// The states of the groups on the paths through one function.
class TagFlow {
public:
  TagFlow(const WriteTags& tags, llvm::Function& function, const std::vector<llvm::DbgLabelRecord*>& labels);

  WriteTags::MovedAt result;

private:
  using Set = uint8_t; // of states
  static constexpr Set kInStep = 1, kBehind = 2, kAhead = 4, kTangled = 8;

  using Home = WriteTags::Home;
  struct Piece; // of memory that is written by the marks, see find_pieces()
  struct Step {
    // kDefine: an address gets its value, in a loop a new one. kFresh: a variable comes into being.
    enum class Kind { kMark, kWrite, kForeignWrite, kLabel, kDefine, kFresh } kind;
    unsigned group = 0;
    const llvm::DbgLabelRecord* label = nullptr;
    Target target = {};                            // kForeignWrite
    const std::vector<Piece>* pieces = nullptr;    // that the write covers
    const std::vector<unsigned>* groups = nullptr; // kDefine
  };
  struct Memory {
    const llvm::Value* address; // of the whole write
    const llvm::Value* base;
    int64_t offset;
    uint64_t size;
    uint64_t whole_size;      // 0: not known
    int64_t from_address = 0; // where the whole write begins
  };
  struct Group {
    std::set<unsigned> tags;
    std::vector<const llvm::BasicBlock*> marks;
    std::vector<const llvm::BasicBlock*> writes;
    std::vector<const llvm::DbgVariableRecord*> records; // those of the marks that are tied to a write
    std::vector<Memory> memory;
    const llvm::DILocation* inlined_at = nullptr; // of marks that are not tied to a write
    bool is_inlined = false;
    bool is_piece = false;
    Extent slot_bits;          // of a variable in several slots: those that this one has
    bool is_scattered = false; // it writes more than the marks that are left say
    bool collects = false;     // many marks, then one write: a sum that was kept in a register over a loop
  };
  // Groups without a write whose memory a write covers, byte for byte.
  struct Piece {
    int64_t begin;
    int64_t end;
    std::vector<unsigned> groups;
  };
  struct Block {
    std::vector<Step> steps;
    std::vector<unsigned> successors;
  };

  unsigned group_of(const llvm::Metadata* id);
  unsigned group_of(unsigned tag, const llvm::DILocation* inlined_at);

  void find_marks();

  // The memory of a mark that stands for a whole write.
  std::optional<Memory> memory_of(const llvm::DbgVariableRecord& mark, uint64_t size) const;

  static bool is_vectorised(const llvm::Loop* loop);

  std::optional<unsigned> group_of_write(const llvm::Instruction& instruction) const;

  void find_writes();

  // A variable that was taken apart is in several slots, or a part of it in none: a write to it is due in
  // each slot by itself.
  void split_by_slots();
  std::optional<unsigned> group_in_slot(unsigned group, const llvm::Instruction& write) const;

  // What a write leaves out of what it has to write is a write that is missing.
  void split_off_rests(const std::map<const llvm::Instruction*, unsigned>& own);

  // Those that a mark of the group counts for.
  std::vector<unsigned> groups_of_mark(unsigned group) const;

  // Groups of calls in whose place there is code of the function that was called.
  std::set<unsigned> inlined_calls() const;

  void make_steps(const std::map<const llvm::Instruction*, unsigned>& own,
                  const std::vector<const llvm::Instruction*>& foreign);

  // Where several marks got one write, and no label sees what is between them: they are as one mark.
  void join_marks(Block& block) const;

  // A write may be gone because later ones to the same memory make it good, or because several became one. So
  // the memory of groups without a write is cut at the borders of all of them and of the writes there are,
  // and each piece is followed by itself.
  void find_pieces();

  // Do the marks of a group say of all that a write of it writes, as far as that is known?
  bool is_told(const Group& group, const llvm::Instruction& write) const;

  static int64_t end_of(const Memory& memory) { return memory.offset + static_cast<int64_t>(memory.size); }

  // The memory of writes to variables, whose marks do not name it.
  void place_slots();

  // The one stack slot that a variable still has as it was.
  const llvm::AllocaInst* slot_of(const Target& target, const llvm::DILocation* inlined_at);

  // What an instruction writes, if that is known.
  std::optional<Memory> range_of(const llvm::Instruction& instruction) const;

  const std::vector<Piece>* covered_by(const llvm::Instruction& instruction);

  static Set map_states(Set states, Set if_in_step, Set if_behind, Set if_ahead);

  void walk(const Block& block, std::vector<Set>& states, bool note);

  // It is one or several of those that are missing: those whose memory it covers, if that explains it all,
  // else nobody knows which.
  void foreign_write(const Step& step, std::vector<Set>& states) const;

  // Groups with a mark or a write that may come after a label.
  std::set<unsigned> groups_after(const Step& label, const Block& home) const;

  // Calls that are made somewhere, of a function whose calls cannot be left out. Once there is no more of
  // them to come, neither in the source nor in the code, all that the source says has been done.
  bool is_sure(const Group& group) const;

  // Does it depend on a call of it whether the code behind is reached at all?
  bool may_not_return(const Group& group) const;

  void note_moved(const Step& label, const Block& home, const std::vector<Set>& states);

  // The stack slots that are still in memory.
  const std::multimap<Home, const llvm::AllocaInst*>& slots();

  void run();

  const WriteTags& tags_;
  llvm::Function& function_;
  llvm::DominatorTree tree_;
  llvm::LoopInfo loops_;
  std::set<const llvm::DbgLabelRecord*> labels_;
  std::map<const llvm::BasicBlock*, unsigned> numbers_;
  std::vector<Group> groups_;
  std::map<const llvm::Metadata*, unsigned> by_id_;
  std::map<std::pair<unsigned, const llvm::DILocation*>, unsigned> by_place_;
  std::map<const llvm::DbgRecord*, unsigned> marks_;
  std::map<std::pair<const llvm::DILocalVariable*, const llvm::DILocation*>, Memory>
      whole_;                                                // of writes, by mark
  std::map<const llvm::AllocaInst*, Extent> parts_in_slots_; // bits of variables that were taken apart
  std::map<std::pair<unsigned, const llvm::Value*>, unsigned> in_slot_; // by whole group and slot
  std::map<unsigned, std::vector<unsigned>> pieces_of_;           // groups that stand for one without a write
  std::map<const llvm::Value*, std::map<int64_t, Piece>> pieces_; // by base and begin
  std::map<const llvm::Instruction*, std::vector<Piece>> covered_;
  std::map<const llvm::Instruction*, std::vector<unsigned>> defines_;
  std::vector<Block> blocks_;
  std::multimap<Home, const llvm::AllocaInst*> slots_;
  bool slots_known_ = false;
};

} // namespace rdb::codegen
