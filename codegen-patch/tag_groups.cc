// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which marks and writes belong together: those of one write of the source, wherever passes have moved, cut
// or joined them.
#include "codegen-patch/debug_names.h"
#include "codegen-patch/record_flow.h"
#include "codegen-patch/tag_flow.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace rdb::codegen {

using namespace llvm;

static constexpr size_t kMostCuts = 64; // of one object's memory

unsigned TagFlow::group_of(const Metadata* id) {
  auto [entry, is_new] = by_id_.try_emplace(id, groups_.size());
  if (is_new) groups_.emplace_back();
  return entry->second;
}

unsigned TagFlow::group_of(unsigned tag, const DILocation* inlined_at) {
  auto [entry, is_new] = by_place_.try_emplace({tag, inlined_at}, groups_.size());
  if (is_new) groups_.emplace_back().inlined_at = inlined_at;
  return entry->second;
}

void TagFlow::find_marks() {
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
          if (assign.isDbgDeclare() && assign.getExpression()->isFragment() && !assign.isKillLocation())
            if (auto* slot = dyn_cast<AllocaInst>(assign.getVariableLocationOp(0))) {
              codegen::Piece piece = piece_of(assign);
              parts_in_slots_[slot] = {piece.offset, piece.offset + piece.size};
            }
          auto tag = parse_number(assign.getVariable()->getName(), kMarkName);
          if (!tag) continue;
          // It went to a variable that is not in memory any more.
          if (!assign.isDbgAssign()) continue;
          group = group_of(assign.getAssignID());
          groups_[group].tags.insert(static_cast<unsigned>(*tag));
          groups_[group].records.push_back(&assign);
          uint64_t size = tags_.tags_[*tag].size;
          if (size > 0)
            size = assign.getVariable()->getSizeInBits().value_or(0) / 8; // that of a vector, maybe
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

std::optional<TagFlow::Memory> TagFlow::memory_of(const DbgVariableRecord& mark, uint64_t size) const {
  int64_t further = 0;
  if (mark.isKillAddress() || mark.getExpression()->getFragmentInfo() ||
      !mark.getAddressExpression()->extractIfOffset(further))
    return std::nullopt;
  const DataLayout& layout = function_.getDataLayout();
  APInt offset(layout.getIndexTypeSizeInBits(mark.getAddress()->getType()), 0);
  const Value* base = mark.getAddress()->stripAndAccumulateConstantOffsets(layout, offset, true);
  return Memory{mark.getAddress(), base, offset.getSExtValue() + further, size, size, further};
}

bool TagFlow::is_vectorised(const Loop* loop) {
  return loop && getBooleanLoopAttribute(loop, "llvm.loop.isvectorized");
}

std::optional<unsigned> TagFlow::group_of_write(const Instruction& instruction) const {
  if (MDNode* id = instruction.getMetadata(LLVMContext::MD_DIAssignID))
    if (auto found = by_id_.find(id); found != by_id_.end()) return found->second;
  const DILocation* at = instruction.getDebugLoc();
  if (!at || at->getLine() == 0) return std::nullopt;
  auto tag = tags_.tag_at_.find({at->getScope()->getSubprogram(), at->getLine()});
  if (tag == tags_.tag_at_.end()) return std::nullopt;
  auto found = by_place_.find({tag->second, at->getInlinedAt()});
  return found == by_place_.end() ? std::nullopt : std::optional(found->second);
}

bool TagFlow::is_told(const Group& group, const Instruction& write) const {
  auto range = range_of(write);
  if (!range) return true;
  int64_t begin = range->offset;
  int64_t end = end_of(*range);
  bool found = false;
  for (const Memory& memory : group.memory)
    if (memory.base == range->base) {
      begin = found ? std::min(begin, memory.offset) : memory.offset;
      end = found ? std::max(end, end_of(memory)) : end_of(memory);
      found = true;
    }
  return !found || (begin <= range->offset && end_of(*range) <= end);
}

void TagFlow::find_writes() {
  std::map<const Instruction*, unsigned> own;
  std::vector<const Instruction*> foreign;
  EscapingSlots escaping;
  for (BasicBlock& block : function_)
    for (Instruction& instruction : block) {
      if (!is_memory_write(instruction)) continue;
      auto group = group_of_write(instruction);
      // Writes to variables that nothing leads to have no marks.
      if (const Value* pointer = written_pointer(instruction);
          !group && pointer && isa<StoreInst>(instruction) && is_simple_slot(pointer, escaping))
        continue;
      if (group && pieces_of_.contains(*group)) group = group_in_slot(*group, instruction);
      if (group) {
        own[&instruction] = *group;
        groups_[*group].writes.push_back(&block);
        groups_[*group].is_scattered |= !is_told(groups_[*group], instruction);
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
  split_off_rests(own);
  find_pieces();
  make_steps(own, foreign);
}

std::set<unsigned> TagFlow::inlined_calls() const {
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

// Inlining gives a parameter that is passed in memory a copy of its own, which the source knows nothing of.
static bool is_copy_of_parameter(const Instruction& instruction) {
  auto* copy = dyn_cast<MemCpyInst>(&instruction);
  auto* slot = copy ? dyn_cast<AllocaInst>(copy->getDest()) : nullptr;
  return slot && !slot->getDebugLoc();
}

void TagFlow::make_steps(const std::map<const Instruction*, unsigned>& own,
                         const std::vector<const Instruction*>& foreign) {
  std::set<const Instruction*> others(foreign.begin(), foreign.end());
  EscapingSlots escaping;
  for (BasicBlock& block : function_) {
    Block& out = blocks_.emplace_back();
    for (BasicBlock* next : successors(&block))
      out.successors.push_back(numbers_[next]);
    std::set<unsigned> marked; // groups with a mark in this block
    for (Instruction& instruction : block) {
      for (DbgRecord& record : instruction.getDbgRecordRange()) {
        if (auto mark = marks_.find(&record); mark != marks_.end()) {
          for (unsigned group : groups_of_mark(mark->second)) {
            out.steps.push_back({Step::Kind::kMark, group});
            marked.insert(group);
          }
        } else if (auto* label = dyn_cast<DbgLabelRecord>(&record); label && labels_.contains(label)) {
          out.steps.push_back({Step::Kind::kLabel, 0, label});
        }
      }
      if (auto write = own.find(&instruction); write != own.end()) {
        // The vectoriser leaves the marks behind with the loop for the rest.
        if (!marked.contains(write->second) && is_vectorised(loops_.getLoopFor(&block))) continue;
        out.steps.push_back({Step::Kind::kWrite, write->second});
        out.steps.back().pieces = covered_by(instruction);
      } else if (others.contains(&instruction) && is_copy_of_parameter(instruction)) {
        out.steps.push_back({Step::Kind::kFresh});
        out.steps.back().pieces = covered_by(instruction);
        if (!out.steps.back().pieces) out.steps.pop_back();
      } else if (others.contains(&instruction)) {
        out.steps.push_back({Step::Kind::kForeignWrite, 0, nullptr, target_of_write(instruction, escaping)});
        out.steps.back().pieces = covered_by(instruction);
        out.steps.back().target.pointer = written_pointer(instruction);
        out.steps.back().target.size = written_size(instruction);
      }
      if (auto defined = defines_.find(&instruction); defined != defines_.end()) {
        out.steps.push_back({Step::Kind::kDefine});
        out.steps.back().groups = &defined->second;
      }
    }
    join_marks(out);
  }
}

void TagFlow::join_marks(Block& block) const {
  struct Steps {
    unsigned count = 0;
    unsigned first_label = 0; // labels ahead of the first of them
    unsigned last_label = 0;
  };
  std::map<unsigned, Steps> found; // by group: its marks and its write
  unsigned labels = 0;
  for (const Step& step : block.steps) {
    if (step.kind == Step::Kind::kLabel) ++labels;
    if (step.kind != Step::Kind::kMark && step.kind != Step::Kind::kWrite) continue;
    Steps& own = found[step.group];
    if (own.count++ == 0) own.first_label = labels;
    own.last_label = labels;
  }
  auto is_joined = [&](const Step& step) {
    if (step.kind != Step::Kind::kMark && step.kind != Step::Kind::kWrite) return false;
    const Group& group = groups_[step.group];
    const Steps& own = found.at(step.group);
    return group.marks.size() > 1 && group.writes.size() == 1 && own.count == group.marks.size() + 1 &&
           own.first_label == own.last_label;
  };
  std::vector<Step> joined;
  for (Step& step : block.steps) {
    bool is_one = is_joined(step);
    if (is_one && step.kind == Step::Kind::kMark) continue;
    if (is_one) joined.push_back({Step::Kind::kMark, step.group});
    joined.push_back(std::move(step));
  }
  block.steps = std::move(joined);
}

void TagFlow::find_pieces() {
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

void TagFlow::place_slots() {
  for (auto& [place, number] : by_place_) {
    Group& group = groups_[number];
    const Target& target = tags_.tags_[place.first].target;
    if (group.tags.size() != 1 || !group.records.empty() || !group.writes.empty()) continue;
    if (const AllocaInst* slot = slot_of(target, place.second); slot && target.size > 0)
      group.memory.assign(group.marks.size(), {slot, slot, target.offset, target.size, target.size});
  }
}

const AllocaInst* TagFlow::slot_of(const Target& target, const DILocation* inlined_at) {
  if (target.kind != Target::Kind::kVariable) return nullptr;
  auto [first, last] = slots().equal_range({target.scope, target.slot, inlined_at});
  bool same =
      first != last && std::next(first) == last &&
      first->second->getAllocationSize(function_.getDataLayout()) == TypeSize::getFixed(target.slot_size);
  return same ? first->second : nullptr;
}

std::optional<TagFlow::Memory> TagFlow::range_of(const Instruction& instruction) const {
  const Value* pointer = is_memory_write(instruction) ? written_pointer(instruction) : nullptr;
  uint64_t size = pointer ? written_size(instruction) : 0;
  if (size == 0) return std::nullopt;
  const DataLayout& layout = function_.getDataLayout();
  APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  const Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
  return Memory{pointer, base, offset.getSExtValue(), size, size};
}

const std::vector<TagFlow::Piece>* TagFlow::covered_by(const Instruction& instruction) {
  auto range = range_of(instruction);
  auto pieces = range ? pieces_.find(range->base) : pieces_.end();
  if (pieces == pieces_.end()) return nullptr;
  std::vector<Piece>& covered = covered_[&instruction];
  for (auto piece = pieces->second.lower_bound(range->offset);
       piece != pieces->second.end() && piece->second.end <= end_of(*range); ++piece)
    covered.push_back(piece->second);
  return covered.empty() ? nullptr : &covered;
}

const std::multimap<TagFlow::Home, const AllocaInst*>& TagFlow::slots() {
  if (!slots_known_) {
    for (const BasicBlock& block : function_)
      for (const Instruction& instruction : block)
        if (const DILocation* home = instruction.getDebugLoc(); isa<AllocaInst>(instruction) && home)
          slots_.emplace(WriteTags::home_of(*home), cast<AllocaInst>(&instruction));
    slots_known_ = true;
  }
  return slots_;
}

} // namespace rdb::codegen
