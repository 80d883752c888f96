// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows marks and writes on all paths through a function to its labels. Those that belong together form a
// group, with a state on each path: in step, write behind its mark, write ahead of it, or beyond telling.
#include "codegen-patch/debug_names.h"
#include "codegen-patch/write_tags.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <deque>
#include <set>

namespace rdb::codegen {

using namespace llvm;

static constexpr size_t kMostCuts = 64; // of one object's memory

// The states of the groups on the paths through one function.
class TagFlow {
public:
  TagFlow(const WriteTags& tags, Function& function, const std::vector<DbgLabelRecord*>& labels)
      : tags_(tags), function_(function), tree_(function), loops_(tree_),
        labels_(labels.begin(), labels.end()) {
    find_marks();
    find_writes();
    run();
  }

  WriteTags::StaleAt result;

private:
  using Set = uint8_t; // of states
  static constexpr Set kInStep = 1, kBehind = 2, kAhead = 4, kTangled = 8;

  using Home = WriteTags::Home;
  struct Piece; // of memory that is written by the marks, see find_pieces()
  struct Step {
    // kDefine: an address gets its value, in a loop a new one.
    enum class Kind { kMark, kWrite, kForeignWrite, kLabel, kDefine } kind;
    unsigned group = 0;
    const DbgLabelRecord* label = nullptr;
    Target target = {};                            // kForeignWrite
    const std::vector<Piece>* pieces = nullptr;    // that the write covers
    const std::vector<unsigned>* groups = nullptr; // kDefine
  };
  struct Memory {
    const Value* address; // of the whole write
    const Value* base;
    int64_t offset;
    uint64_t size;
    uint64_t whole_size;      // 0: not known
    int64_t from_address = 0; // where the whole write begins
  };
  struct Group {
    std::set<unsigned> tags;
    std::vector<const BasicBlock*> marks;
    std::vector<const BasicBlock*> writes;
    std::vector<const DbgVariableRecord*> records; // those of the marks that are tied to a write
    std::vector<Memory> memory;
    const DILocation* inlined_at = nullptr; // of marks that are not tied to a write
    bool is_inlined = false;
    bool is_piece = false;
    bool collects = false; // many marks, then one write: a sum that was kept in a register over a loop
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

  unsigned group_of(const Metadata* id) {
    auto [entry, is_new] = by_id_.try_emplace(id, groups_.size());
    if (is_new) groups_.emplace_back();
    return entry->second;
  }
  unsigned group_of(unsigned tag, const DILocation* inlined_at) {
    auto [entry, is_new] = by_place_.try_emplace({tag, inlined_at}, groups_.size());
    if (is_new) groups_.emplace_back().inlined_at = inlined_at;
    return entry->second;
  }

  void find_marks() {
    for (BasicBlock& block : function_) {
      numbers_.emplace(&block, static_cast<unsigned>(numbers_.size()));
      for (Instruction& instruction : block)
        for (DbgRecord& record : instruction.getDbgRecordRange()) {
          unsigned group = 0;
          if (auto* label = dyn_cast<DbgLabelRecord>(&record)) {
            auto tag = parse_number(label->getLabel()->getName(), kMarkName);
            if (!tag) continue;
            group = group_of(static_cast<unsigned>(*tag), record.getDebugLoc().getInlinedAt());
            groups_[group].tags.insert(static_cast<unsigned>(*tag));
          } else {
            auto& assign = cast<DbgVariableRecord>(record);
            auto tag = parse_number(assign.getVariable()->getName(), kMarkName);
            if (!tag) continue;
            // It went to a variable that is not in memory any more.
            if (!assign.isDbgAssign()) continue;
            group = group_of(assign.getAssignID());
            groups_[group].tags.insert(static_cast<unsigned>(*tag));
            groups_[group].records.push_back(&assign);
            uint64_t size = tags_.tags_[*tag].size;
            if (auto* length =
                    dyn_cast_or_null<ConstantInt>(assign.isKillLocation() ? nullptr : assign.getValue());
                length && size == 0)
              size = length->getLimitedValue();
            if (auto memory = memory_of(assign, size)) {
              groups_[group].memory.push_back(*memory);
              auto [whole, is_new] =
                  whole_.try_emplace({assign.getVariable(), assign.getDebugLoc().getInlinedAt()}, *memory);
              if (!is_new && whole->second.address != memory->address) whole->second.address = nullptr;
            }
          }
          groups_[group].marks.push_back(&block);
          marks_[&record] = group;
        }
    }
    // A part that was cut off, because it is overwritten, lies in the memory of the whole.
    for (Group& group : groups_)
      for (const DbgVariableRecord* record : group.records) {
        auto part = record->getExpression()->getFragmentInfo();
        auto whole = whole_.find({record->getVariable(), record->getDebugLoc().getInlinedAt()});
        if (!part || whole == whole_.end() || !whole->second.address || part->OffsetInBits % 8 != 0) continue;
        Memory memory = whole->second;
        memory.offset += static_cast<int64_t>(part->OffsetInBits / 8);
        memory.size = part->SizeInBits / 8;
        group.memory.push_back(memory);
      }
  }

  // The memory of a mark that stands for a whole write.
  std::optional<Memory> memory_of(const DbgVariableRecord& mark, uint64_t size) const {
    int64_t further = 0;
    if (mark.isKillAddress() || mark.getExpression()->getFragmentInfo() ||
        !mark.getAddressExpression()->extractIfOffset(further))
      return std::nullopt;
    const DataLayout& layout = function_.getDataLayout();
    APInt offset(layout.getIndexTypeSizeInBits(mark.getAddress()->getType()), 0);
    const Value* base = mark.getAddress()->stripAndAccumulateConstantOffsets(layout, offset, true);
    return Memory{mark.getAddress(), base, offset.getSExtValue() + further, size, size, further};
  }

  static bool is_vectorised(const Loop* loop) {
    return loop && getBooleanLoopAttribute(loop, "llvm.loop.isvectorized");
  }

  std::optional<unsigned> group_of_write(const Instruction& instruction) const {
    if (MDNode* id = instruction.getMetadata(LLVMContext::MD_DIAssignID))
      if (auto found = by_id_.find(id); found != by_id_.end()) return found->second;
    const DILocation* at = instruction.getDebugLoc();
    if (!at || at->getLine() == 0) return std::nullopt;
    auto tag = tags_.tag_at_.find({at->getScope()->getSubprogram(), at->getLine()});
    if (tag == tags_.tag_at_.end()) return std::nullopt;
    auto found = by_place_.find({tag->second, at->getInlinedAt()});
    return found == by_place_.end() ? std::nullopt : std::optional(found->second);
  }

  void find_writes() {
    std::map<const Instruction*, unsigned> own;
    std::vector<const Instruction*> foreign;
    for (BasicBlock& block : function_)
      for (Instruction& instruction : block) {
        if (!is_memory_write(instruction)) continue;
        if (const Value* pointer = written_pointer(instruction);
            pointer && isa<StoreInst>(instruction) && is_simple_slot(pointer))
          continue;
        if (auto group = group_of_write(instruction)) {
          own[&instruction] = *group;
          groups_[*group].writes.push_back(&block);
        } else if (auto quiet = tags_.quiet_.find(callee_name(instruction));
                   quiet != tags_.quiet_.end() && quiet->second) {
          continue;
        } else if (!is_vectorised(loops_.getLoopFor(&block))) {
          foreign.push_back(&instruction);
        }
      }
    // A call that became one with another is no more known as itself; as long as it calls the same function
    // it is the one that is missing. A call that is gone altogether was inlined, and the marks of the code it
    // led to stand for it.
    std::set<std::string> foreign_callees;
    for (const Instruction* instruction : foreign)
      if (isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction))
        foreign_callees.insert(callee_name(*instruction));
    std::set<unsigned> inlined = inlined_calls();
    std::map<std::string, unsigned> missing;
    std::map<unsigned, unsigned> joined;
    for (unsigned i = 0; i < groups_.size(); ++i) {
      if (!groups_[i].writes.empty()) continue;
      for (unsigned tag : groups_[i].tags) {
        const WriteTags::Tag& call = tags_.tags_[tag];
        if (!call.is_call) continue;
        if (inlined.contains(i) || (!foreign_callees.contains(call.callee) && call.has_code))
          groups_[i].is_inlined = true;
        else
          joined[i] = missing.try_emplace(call.callee, i).first->second;
      }
    }
    for (auto [from, to] : joined)
      if (from != to) groups_[to].tags.insert(groups_[from].tags.begin(), groups_[from].tags.end());
    for (auto& [record, group] : marks_)
      if (auto found = joined.find(group); found != joined.end()) group = found->second;
    for (const Instruction* instruction : foreign)
      if (auto found = missing.find(callee_name(*instruction));
          isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction) && found != missing.end()) {
        own[instruction] = found->second;
        groups_[found->second].writes.push_back(instruction->getParent());
      }
    for (Group& group : groups_) {
      group.collects = !group.writes.empty();
      for (const BasicBlock* mark : group.marks) {
        const Loop* loop = loops_.getLoopFor(mark);
        if (!loop) group.collects = false;
        for (const BasicBlock* write : group.writes)
          if (loop && loop->contains(write)) group.collects = false;
      }
    }
    find_pieces();
    make_steps(own, foreign);
  }

  // Groups of calls in whose place there is code of the function that was called.
  std::set<unsigned> inlined_calls() const {
    std::set<unsigned> found;
    std::set<const DILocation*> seen;
    auto note = [&](const DebugLoc& place) {
      const DILocation* at = place;
      for (const DILocation* call = at ? at->getInlinedAt() : nullptr; call && seen.insert(call).second;
           call = call->getInlinedAt()) {
        auto tag = tags_.tag_at_.find({call->getScope()->getSubprogram(), call->getLine()});
        if (tag == tags_.tag_at_.end()) continue;
        if (auto group = by_place_.find({tag->second, call->getInlinedAt()}); group != by_place_.end())
          found.insert(group->second);
      }
    };
    for (const BasicBlock& block : function_)
      for (const Instruction& instruction : block) {
        note(instruction.getDebugLoc());
        for (const DbgRecord& record : instruction.getDbgRecordRange())
          note(record.getDebugLoc());
      }
    return found;
  }

  void make_steps(const std::map<const Instruction*, unsigned>& own,
                  const std::vector<const Instruction*>& foreign) {
    std::set<const Instruction*> others(foreign.begin(), foreign.end());
    for (BasicBlock& block : function_) {
      Block& out = blocks_.emplace_back();
      for (BasicBlock* next : successors(&block))
        out.successors.push_back(numbers_[next]);
      std::set<unsigned> marked; // groups with a mark in this block
      for (Instruction& instruction : block) {
        for (DbgRecord& record : instruction.getDbgRecordRange()) {
          if (auto mark = marks_.find(&record); mark != marks_.end()) {
            auto pieces = pieces_of_.find(mark->second);
            if (pieces == pieces_of_.end())
              out.steps.push_back({Step::Kind::kMark, mark->second});
            else
              for (unsigned piece : pieces->second)
                out.steps.push_back({Step::Kind::kMark, piece});
            marked.insert(mark->second);
          } else if (auto* label = dyn_cast<DbgLabelRecord>(&record); label && labels_.contains(label)) {
            out.steps.push_back({Step::Kind::kLabel, 0, label});
          }
        }
        if (auto write = own.find(&instruction); write != own.end()) {
          // The vectoriser leaves the marks behind with the loop for the rest.
          if (!marked.contains(write->second) && is_vectorised(loops_.getLoopFor(&block))) continue;
          out.steps.push_back({Step::Kind::kWrite, write->second});
          out.steps.back().pieces = covered_by(instruction);
        } else if (others.contains(&instruction)) {
          out.steps.push_back({Step::Kind::kForeignWrite, 0, nullptr, target_of_write(instruction)});
          out.steps.back().pieces = covered_by(instruction);
          out.steps.back().target.pointer = written_pointer(instruction);
          out.steps.back().target.size = written_size(instruction);
        }
        if (auto defined = defines_.find(&instruction); defined != defines_.end()) {
          out.steps.push_back({Step::Kind::kDefine});
          out.steps.back().groups = &defined->second;
        }
      }
    }
  }

  // A write may be gone because later ones to the same memory make it good, or because several became one. So
  // the memory of groups without a write is cut at the borders of all of them and of the writes there are,
  // and each piece is followed by itself.
  void find_pieces() {
    place_slots();
    std::map<const Value*, std::vector<unsigned>> missing;
    for (unsigned i = 0; i < groups_.size(); ++i) {
      const Group& group = groups_[i];
      bool one_place = !group.memory.empty() && group.memory.size() == group.marks.size() &&
                       all_of(group.memory, [&](const Memory& memory) {
                         return memory.base == group.memory[0].base &&
                                memory.offset == group.memory[0].offset &&
                                memory.size == group.memory[0].size && memory.size > 0;
                       });
      if (group.writes.empty() && one_place) missing[group.memory[0].base].push_back(i);
    }
    if (missing.empty()) return;
    std::map<const Value*, std::set<int64_t>> borders;
    for (const BasicBlock& block : function_)
      for (const Instruction& instruction : block)
        if (auto range = range_of(instruction); range && missing.contains(range->base))
          borders[range->base].insert({range->offset, range->offset + static_cast<int64_t>(range->size)});
    for (auto& [base, groups] : missing) {
      std::set<int64_t>& cuts = borders[base];
      for (unsigned group : groups)
        cuts.insert({groups_[group].memory[0].offset, end_of(groups_[group].memory[0])});
      if (cuts.size() > kMostCuts) continue;
      auto* defined = dyn_cast<Instruction>(base);
      bool in_loop = defined && loops_.getLoopFor(defined->getParent());
      std::map<int64_t, Piece>& pieces = pieces_[base];
      for (unsigned group : groups) {
        Memory whole = groups_[group].memory[0];
        for (auto cut = cuts.find(whole.offset); *cut != end_of(whole); ++cut) {
          auto number = static_cast<unsigned>(groups_.size());
          Group part = groups_[group];
          part.memory = {whole};
          part.memory[0].offset = *cut;
          part.memory[0].size = static_cast<uint64_t>(*std::next(cut) - *cut);
          part.is_piece = true;
          groups_.push_back(std::move(part));
          pieces_of_[group].push_back(number);
          Piece& piece = pieces.try_emplace(*cut, Piece{*cut, *std::next(cut), {}}).first->second;
          piece.groups.push_back(number);
          if (in_loop) defines_[defined].push_back(number);
        }
      }
    }
  }

  static int64_t end_of(const Memory& memory) { return memory.offset + static_cast<int64_t>(memory.size); }

  // The memory of writes to variables, whose marks do not name it.
  void place_slots() {
    for (auto& [place, number] : by_place_) {
      Group& group = groups_[number];
      const Target& target = tags_.tags_[place.first].target;
      if (group.tags.size() != 1 || !group.records.empty() || !group.writes.empty()) continue;
      if (const AllocaInst* slot = slot_of(target, place.second); slot && target.size > 0)
        group.memory.assign(group.marks.size(), {slot, slot, target.offset, target.size, target.size});
    }
  }

  // The one stack slot that a variable still has as it was.
  const AllocaInst* slot_of(const Target& target, const DILocation* inlined_at) {
    if (target.kind != Target::Kind::kVariable) return nullptr;
    auto [first, last] = slots().equal_range({target.scope, target.slot, inlined_at});
    bool same =
        first != last && std::next(first) == last &&
        first->second->getAllocationSize(function_.getDataLayout()) == TypeSize::getFixed(target.slot_size);
    return same ? first->second : nullptr;
  }

  // What an instruction writes, if that is known.
  std::optional<Memory> range_of(const Instruction& instruction) const {
    const Value* pointer = is_memory_write(instruction) ? written_pointer(instruction) : nullptr;
    uint64_t size = pointer ? written_size(instruction) : 0;
    if (size == 0) return std::nullopt;
    const DataLayout& layout = function_.getDataLayout();
    APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
    const Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
    return Memory{pointer, base, offset.getSExtValue(), size, size};
  }

  const std::vector<Piece>* covered_by(const Instruction& instruction) {
    auto range = range_of(instruction);
    auto pieces = range ? pieces_.find(range->base) : pieces_.end();
    if (pieces == pieces_.end()) return nullptr;
    std::vector<Piece>& covered = covered_[&instruction];
    for (auto piece = pieces->second.lower_bound(range->offset);
         piece != pieces->second.end() && piece->second.end <= end_of(*range); ++piece)
      covered.push_back(piece->second);
    return covered.empty() ? nullptr : &covered;
  }

  static Set map_states(Set states, Set if_in_step, Set if_behind, Set if_ahead) {
    Set result = states & kTangled;
    if (states & kInStep) result |= if_in_step;
    if (states & kBehind) result |= if_behind;
    if (states & kAhead) result |= if_ahead;
    return result;
  }

  void walk(const Block& block, std::vector<Set>& states, bool note) {
    std::set<unsigned> just_written; // several instructions may be one write of the source
    for (const Step& step : block.steps) {
      Set& state = states[step.group];
      const Group* group = groups_.empty() ? nullptr : &groups_[step.group];
      switch (step.kind) {
      case Step::Kind::kMark:
        // One write for several marks: the last one's, which is all that memory shows.
        state = map_states(state, kBehind, group->collects || group->writes.size() < 2 ? kBehind : kTangled,
                           kInStep);
        just_written.erase(step.group);
        break;
      case Step::Kind::kWrite:
        if (!just_written.insert(step.group).second) break;
        state = map_states(state, kAhead, kInStep, kTangled);
        // What was to be written there before is made good.
        if (state == kInStep && step.pieces)
          for (const Piece& piece : *step.pieces)
            for (unsigned covered : piece.groups)
              states[covered] = kInStep;
        break;
      case Step::Kind::kForeignWrite:
        foreign_write(step, states);
        break;
      case Step::Kind::kDefine:
        for (unsigned defined : *step.groups)
          states[defined] = map_states(states[defined], kInStep, kTangled, kTangled);
        break;
      case Step::Kind::kLabel:
        just_written.clear();
        if (note) note_stale(step, block, states);
        break;
      }
    }
  }

  // It is one or several of those that are missing: those whose memory it covers, if that explains it all,
  // else nobody knows which.
  void foreign_write(const Step& step, std::vector<Set>& states) const {
    uint64_t explained = 0;
    if (step.pieces)
      for (const Piece& piece : *step.pieces) {
        explained += static_cast<uint64_t>(piece.end - piece.begin);
        // The last one that is due; the others are made good by it.
        bool due = any_of(piece.groups, [&](unsigned group) { return states[group] == kBehind; });
        for (unsigned group : piece.groups)
          states[group] = map_states(states[group], due ? kInStep : kAhead, kInStep, due ? kAhead : kTangled);
      }
    if (step.target.size > 0 && explained == step.target.size) return;
    const Target& target = step.target;
    for (unsigned i = 0; i < groups_.size(); ++i) {
      if (!groups_[i].writes.empty() || pieces_of_.contains(i)) continue;
      for (unsigned tag : groups_[i].tags) {
        const Target& other = tags_.tags_[tag].target;
        bool same =
            target.kind == other.kind &&
            (target.kind == Target::Kind::kUnknown || target.kind == Target::Kind::kVariable
                 ? target.slot == other.slot && target.scope == other.scope &&
                       (target.kind == Target::Kind::kUnknown || target.inlined_at == groups_[i].inlined_at)
                 : target.global == other.global);
        if (same && !tags_.tags_[tag].is_call) states[i] |= kTangled;
      }
    }
  }

  // Groups with a mark or a write that may come after a label.
  std::set<unsigned> groups_after(const Step& label, const Block& home) const {
    std::set<unsigned> groups;
    for (const Step* step = &label + 1; step != home.steps.data() + home.steps.size(); ++step)
      groups.insert(step->group);
    std::set<unsigned> seen;
    std::vector<unsigned> work(home.successors.begin(), home.successors.end());
    while (!work.empty()) {
      unsigned index = work.back();
      work.pop_back();
      if (!seen.insert(index).second) continue;
      for (const Step& step : blocks_[index].steps)
        groups.insert(step.group);
      work.insert(work.end(), blocks_[index].successors.begin(), blocks_[index].successors.end());
    }
    return groups;
  }

  // Calls that are made somewhere, of a function whose calls cannot be left out. Once there is no more of
  // them to come, neither in the source nor in the code, all that the source says has been done.
  bool is_sure(const Group& group) const {
    return !group.writes.empty() && all_of(group.tags, [&](unsigned tag) {
      const Function* callee = function_.getParent()->getFunction(tags_.tags_[tag].callee);
      return tags_.tags_[tag].is_call && callee && !callee->onlyAccessesArgMemory();
    });
  }

  void note_stale(const Step& label, const Block& home, const std::vector<Set>& states) {
    std::vector<Target>& stale = result[label.label];
    std::optional<std::set<unsigned>> after;
    for (unsigned i = 0; i < groups_.size(); ++i) {
      if ((states[i] & ~kInStep) == 0 || groups_[i].is_inlined) continue;
      if (is_sure(groups_[i])) {
        if (!after) after = groups_after(label, home);
        if (!after->contains(i)) continue;
      }
      bool is_located = groups_[i].is_piece ||
                        (!groups_[i].records.empty() && groups_[i].memory.size() == groups_[i].marks.size());
      for (unsigned tag : groups_[i].tags) {
        Target target = tags_.tags_[tag].target;
        // By now it may be known that what is called does not write at all.
        if (const Function* callee = tags_.tags_[tag].is_call
                                         ? function_.getParent()->getFunction(tags_.tags_[tag].callee)
                                         : nullptr;
            callee && callee->onlyReadsMemory())
          continue;
        if (is_traced())
          target.note = fmt::format("{} '{}', states {}, {} marks, {} writes{}",
                                    tags_.tags_[tag].is_call ? "call" : "store", tags_.tags_[tag].callee,
                                    states[i], groups_[i].marks.size(), groups_[i].writes.size(),
                                    groups_[i].is_piece ? ", a piece" : "");
        if (target.kind == Target::Kind::kVariable) {
          target.inlined_at = groups_[i].inlined_at;
          if (!slots().contains({target.scope, target.slot, target.inlined_at}))
            continue; // not in memory: it cannot be stale there
          target.pointer = slot_of(target, target.inlined_at);
          stale.push_back(target);
        } else if (!is_located) {
          stale.push_back(target);
        } else {
          for (const Memory& memory : groups_[i].memory) {
            target.pointer = memory.address;
            target.offset = memory.from_address;
            target.size = memory.whole_size;
            stale.push_back(target);
          }
        }
      }
    }
  }

  // The stack slots that are still in memory.
  const std::multimap<Home, const AllocaInst*>& slots() {
    if (!slots_known_) {
      for (const BasicBlock& block : function_)
        for (const Instruction& instruction : block)
          if (const DILocation* home = instruction.getDebugLoc(); isa<AllocaInst>(instruction) && home)
            slots_.emplace(WriteTags::home_of(*home), cast<AllocaInst>(&instruction));
      slots_known_ = true;
    }
    return slots_;
  }

  void run() {
    std::vector<std::vector<Set>> in(blocks_.size(),
                                     std::vector<Set>(std::max<size_t>(groups_.size(), 1), 0));
    in[0].assign(in[0].size(), kInStep);
    std::deque<unsigned> work{0};
    std::vector<bool> queued(blocks_.size(), false);
    std::vector<bool> reached(blocks_.size(), false);
    reached[0] = true;
    while (!work.empty()) {
      unsigned index = work.front();
      work.pop_front();
      queued[index] = false;
      std::vector<Set> states = in[index];
      walk(blocks_[index], states, /*note=*/false);
      for (unsigned next : blocks_[index].successors) {
        bool changed = !reached[next];
        reached[next] = true;
        for (size_t i = 0; i < states.size(); ++i) {
          Set merged = in[next][i] | states[i];
          changed |= merged != in[next][i];
          in[next][i] = merged;
        }
        if (changed && !queued[next]) {
          queued[next] = true;
          work.push_back(next);
        }
      }
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      std::vector<Set> states = in[i];
      walk(blocks_[i], states, /*note=*/true);
    }
  }

  const WriteTags& tags_;
  Function& function_;
  DominatorTree tree_;
  LoopInfo loops_;
  std::set<const DbgLabelRecord*> labels_;
  std::map<const BasicBlock*, unsigned> numbers_;
  std::vector<Group> groups_;
  std::map<const Metadata*, unsigned> by_id_;
  std::map<std::pair<unsigned, const DILocation*>, unsigned> by_place_;
  std::map<const DbgRecord*, unsigned> marks_;
  std::map<std::pair<const DILocalVariable*, const DILocation*>, Memory> whole_; // of writes, by mark
  std::map<unsigned, std::vector<unsigned>> pieces_of_;     // groups that stand for one without a write
  std::map<const Value*, std::map<int64_t, Piece>> pieces_; // by base and begin
  std::map<const Instruction*, std::vector<Piece>> covered_;
  std::map<const Instruction*, std::vector<unsigned>> defines_;
  std::vector<Block> blocks_;
  std::multimap<Home, const AllocaInst*> slots_;
  bool slots_known_ = false;
};

WriteTags::StaleAt WriteTags::find_stale(Function& function,
                                         const std::vector<DbgLabelRecord*>& labels) const {
  return TagFlow(*this, function, labels).result;
}

} // namespace rdb::codegen
