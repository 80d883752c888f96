// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stores to memory that pointers may lead to are tied to their marks the way LLVM's assignment tracking does
// it (!DIAssignID), which passes keep when they merge stores; other writes are known by their debug location.
// Marks and writes that belong together form a group, with a state on each path: in step, write behind its
// mark, write ahead of it, or beyond telling.
#include "codegen-patch/write_tags.h"

#include "codegen-patch/debug_names.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <deque>
#include <set>

namespace rdb::codegen {

using namespace llvm;

static constexpr const char* kMarkName = "rdb.mark.";

bool WriteTags::is_mark(StringRef name) {
  return name.starts_with(kMarkName);
}

namespace {

// A variable that becomes a value: its stores are followed as values.
bool is_simple_slot(const Value* pointer) {
  auto* slot = dyn_cast<AllocaInst>(pointer);
  return slot && slot->isStaticAlloca() && slot->getAllocatedType()->isSingleValueType() &&
         !slot_escapes(*slot);
}

std::string callee_name(const Instruction& instruction) {
  auto* call = dyn_cast<CallBase>(&instruction);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee ? callee->getName().str() : "";
}

} // namespace

void WriteTags::record(Function& function, DISubprogram& subprogram, DIBuilder& builder, Marks marks) {
  LLVMContext& context = function.getContext();
  unsigned ordinal = 1;
  for (BasicBlock& block : function)
    for (Instruction& instruction : block)
      instruction.setDebugLoc(DILocation::get(context, ++ordinal, 0, &subprogram));
  if (marks == Marks::kNone) return;
  DIType* type = builder.createBasicType("mark", 64, dwarf::DW_ATE_unsigned);
  for (BasicBlock& block : function)
    for (Instruction& instruction : block) {
      auto* call = dyn_cast<CallBase>(&instruction);
      if (call && call->getCalledFunction() == &function)
        self_calls_[&subprogram].push_back(instruction.getDebugLoc().getLine());
      if (!is_memory_write(instruction)) continue;
      const Value* pointer = written_pointer(instruction);
      if (pointer && isa<StoreInst>(instruction) && is_simple_slot(pointer)) continue;
      auto number = static_cast<unsigned>(tags_.size());
      Tag& tag = tags_.emplace_back();
      tag.target = target_of_write(instruction);
      tag.is_call = call && !isa<IntrinsicInst>(call);
      tag.callee = callee_name(instruction);
      tag.has_code = call && call->getCalledFunction() && !call->getCalledFunction()->isDeclaration();
      tag.size = written_size(instruction);
      tag_at_[{&subprogram, instruction.getDebugLoc().getLine()}] = number;
      std::string name = kMarkName + std::to_string(number);
      DILocation* at = instruction.getDebugLoc();
      bool tied = isa<StoreInst, MemIntrinsic>(instruction) && tag.target.kind != Target::Kind::kVariable;
      DbgRecord* mark = nullptr;
      if (tied) {
        auto* id = DIAssignID::getDistinct(context);
        instruction.setMetadata(LLVMContext::MD_DIAssignID, id);
        DILocalVariable* variable =
            builder.createAutoVariable(&subprogram, name, subprogram.getFile(), 1, type);
        mark = DbgVariableRecord::createDVRAssign(
            ConstantInt::get(Type::getInt64Ty(context), number), variable, builder.createExpression(), id,
            const_cast<Value*>(pointer), builder.createExpression(), at);
      } else {
        mark = new DbgLabelRecord(
            builder.createLabel(&subprogram, name, subprogram.getFile(), 1, 0, false, std::nullopt),
            DebugLoc(at));
      }
      block.insertDbgRecordBefore(mark, instruction.getIterator());
    }
}

bool WriteTags::lost_recursion(const Function& function, const DbgLabelRecord& label) const {
  for (const DILocation* level = label.getDebugLoc(); level; level = level->getInlinedAt()) {
    const DISubprogram* subprogram = level->getScope()->getSubprogram();
    auto calls = self_calls_.find(subprogram);
    if (calls == self_calls_.end()) continue;
    std::set<unsigned> missing(calls->second.begin(), calls->second.end());
    for (const BasicBlock& block : function)
      for (const Instruction& instruction : block) {
        // The call itself, or code that was inlined through it.
        for (const DILocation* at = instruction.getDebugLoc(); at; at = at->getInlinedAt())
          if (at->getInlinedAt() == level->getInlinedAt() && at->getScope()->getSubprogram() == subprogram &&
              (isa<CallBase>(instruction) || at != instruction.getDebugLoc().get()))
            missing.erase(at->getLine());
      }
    if (!missing.empty()) return true;
  }
  return false;
}

// The states of the groups on the paths through one function.
class TagFlow {
public:
  TagFlow(const WriteTags& tags, Function& function, const std::vector<DbgLabelRecord*>& labels)
      : tags_(tags), function_(function), tree_(function), loops_(tree_),
        labels_(labels.begin(), labels.end()) {
    find_marks();
    find_writes();
    find_killers();
    run();
  }

  WriteTags::StaleAt result;

private:
  using Set = uint8_t; // of states
  static constexpr Set kInStep = 1, kBehind = 2, kAhead = 4, kTangled = 8;

  struct Step {
    enum class Kind { kMark, kWrite, kForeignWrite, kLabel } kind;
    unsigned group = 0;
    const DbgLabelRecord* label = nullptr;
    Target target = {}; // kForeignWrite
  };
  struct Group {
    std::set<unsigned> tags;
    std::vector<const BasicBlock*> marks;
    std::vector<const BasicBlock*> writes;
    std::vector<std::pair<const Value*, uint64_t>> memory; // address and size
    std::vector<unsigned> kills;                           // groups whose missing write this one makes good
    bool is_inlined = false;
    bool collects = false; // many marks, then one write: a sum that was kept in a register over a loop
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
    if (is_new) groups_.emplace_back();
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
            if (!assign.isKillAddress() && assign.getAddressExpression()->getElements().empty())
              groups_[group].memory.emplace_back(assign.getAddress(), tags_.tags_[*tag].size);
          }
          groups_[group].marks.push_back(&block);
          marks_[&record] = group;
        }
    }
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
    std::map<std::string, unsigned> missing;
    std::map<unsigned, unsigned> joined;
    for (unsigned i = 0; i < groups_.size(); ++i) {
      if (!groups_[i].writes.empty()) continue;
      for (unsigned tag : groups_[i].tags) {
        const WriteTags::Tag& call = tags_.tags_[tag];
        if (!call.is_call) continue;
        if (!foreign_callees.contains(call.callee) && call.has_code)
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
    make_steps(own, foreign);
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
            out.steps.push_back({Step::Kind::kMark, mark->second});
            marked.insert(mark->second);
          } else if (auto* label = dyn_cast<DbgLabelRecord>(&record); label && labels_.contains(label)) {
            out.steps.push_back({Step::Kind::kLabel, 0, label});
          }
        }
        if (auto write = own.find(&instruction); write != own.end()) {
          // The vectoriser leaves the marks behind with the loop for the rest.
          if (!marked.contains(write->second) && is_vectorised(loops_.getLoopFor(&block))) continue;
          out.steps.push_back({Step::Kind::kWrite, write->second});
        } else if (others.contains(&instruction)) {
          out.steps.push_back({Step::Kind::kForeignWrite, 0, nullptr, target_of_write(instruction)});
        }
      }
    }
  }

  // Writes that are gone because a later one to the same memory makes them good.
  void find_killers() {
    const DataLayout& layout = function_.getDataLayout();
    struct Range {
      const Value* base;
      int64_t offset;
      uint64_t size;
    };
    auto range = [&](const std::pair<const Value*, uint64_t>& memory) {
      APInt offset(layout.getIndexTypeSizeInBits(memory.first->getType()), 0);
      const Value* base =
          memory.first->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
      return Range{base, offset.getSExtValue(), memory.second};
    };
    std::multimap<const Value*, std::pair<Range, unsigned>> missing;
    for (unsigned i = 0; i < groups_.size(); ++i)
      if (groups_[i].writes.empty() && groups_[i].memory.size() == 1 && groups_[i].marks.size() == 1 &&
          groups_[i].memory[0].second > 0) {
        Range memory = range(groups_[i].memory[0]);
        missing.emplace(memory.base, std::pair(memory, i));
      }
    if (missing.empty()) return;
    for (unsigned i = 0; i < groups_.size(); ++i) {
      if (groups_[i].writes.empty()) continue;
      for (const auto& memory : groups_[i].memory) {
        Range killer = range(memory);
        auto [first, last] = missing.equal_range(killer.base);
        for (; first != last; ++first) {
          const auto& [killed, group] = first->second;
          if (killer.offset <= killed.offset && killed.offset + static_cast<int64_t>(killed.size) <=
                                                    killer.offset + static_cast<int64_t>(killer.size))
            groups_[i].kills.push_back(group);
        }
      }
    }
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
        if (state == kInStep)
          for (unsigned killed : group->kills)
            states[killed] = kInStep;
        break;
      case Step::Kind::kForeignWrite:
        foreign_write(step.target, states);
        break;
      case Step::Kind::kLabel:
        just_written.clear();
        if (note) note_stale(*step.label, states);
        break;
      }
    }
  }

  // It is one of those that are missing, nobody knows which.
  void foreign_write(const Target& target, std::vector<Set>& states) const {
    for (unsigned i = 0; i < groups_.size(); ++i) {
      if (!groups_[i].writes.empty()) continue;
      for (unsigned tag : groups_[i].tags) {
        const Target& other = tags_.tags_[tag].target;
        bool same = target.kind == other.kind &&
                    (target.kind == Target::Kind::kUnknown || target.kind == Target::Kind::kVariable
                         ? target.slot == other.slot && target.scope == other.scope
                         : target.global == other.global);
        if (same && !tags_.tags_[tag].is_call) states[i] |= kTangled;
      }
    }
  }

  void note_stale(const DbgLabelRecord& label, const std::vector<Set>& states) {
    std::vector<Target>& stale = result[&label];
    for (unsigned i = 0; i < groups_.size(); ++i) {
      if ((states[i] & ~kInStep) == 0 || groups_[i].is_inlined) continue;
      if (is_traced())
        for (unsigned tag : groups_[i].tags)
          fmt::print(stderr,
                     "rdb: {} in {}: {} '{}' (slot {}, global '{}'): states {}, {} marks, {} writes\n",
                     label.getLabel()->getName().str(), function_.getName().str(),
                     tags_.tags_[tag].is_call ? "call" : "store", tags_.tags_[tag].callee,
                     tags_.tags_[tag].target.slot, tags_.tags_[tag].target.global, states[i],
                     groups_[i].marks.size(), groups_[i].writes.size());
      for (unsigned tag : groups_[i].tags)
        if (const Target& target = tags_.tags_[tag].target; still_exists(target)) stale.push_back(target);
    }
  }

  // A variable that is not in memory any more cannot be stale there.
  bool still_exists(const Target& target) {
    if (target.kind != Target::Kind::kVariable) return true;
    if (!slots_known_) {
      for (const BasicBlock& block : function_)
        for (const Instruction& instruction : block)
          if (const DILocation* home = instruction.getDebugLoc(); isa<AllocaInst>(instruction) && home)
            slots_.insert({home->getScope()->getSubprogram(), home->getLine()});
      slots_known_ = true;
    }
    return slots_.contains({target.scope, target.slot});
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
  std::vector<Block> blocks_;
  std::set<std::pair<const DISubprogram*, unsigned>> slots_; // that are still in memory
  bool slots_known_ = false;
};

WriteTags::StaleAt WriteTags::find_stale(Function& function,
                                         const std::vector<DbgLabelRecord*>& labels) const {
  return TagFlow(*this, function, labels).result;
}

} // namespace rdb::codegen
