// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instruction selection merges stores that lie side by side; the one that is left stands for all whose memory
// it covers. A write that cannot be found again at all is out of its place wherever it matters.
#include "codegen-patch/code_order.h"

#include "codegen-patch/debug_names.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineMemOperand.h"
#include "llvm/CodeGen/PseudoSourceValue.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace rdb::codegen {

using namespace llvm;

namespace {

constexpr unsigned kLabel = 1U << 31;  // + instance: a label in a list of ordinals
constexpr unsigned kNobody = 0;        // a write whose ordinal got lost
constexpr unsigned kMerged = 1U << 30; // + number: a write that stands for several, and has no ordinal

// What came last, for 64 writes at a time, each looked at alone with the place: the entry, the write itself
// or the place, as sets of writes for which that can be.
struct Last {
  uint64_t entry = 0;
  uint64_t write = 0;
  uint64_t place = 0;
};

struct Orders {
  Last before_place;
  Last before_write;
  Last before_exit; // of the function
};

constexpr int kPlace = -1; // else the number of a write in its batch

struct FlowBlock {
  std::vector<int> steps;
  std::vector<unsigned> successors;
};

Orders find_orders(const std::vector<FlowBlock>& blocks) {
  Orders orders;
  std::vector<Last> in(blocks.size());
  std::vector<unsigned> work{0};
  in[0].entry = ~0ULL;
  auto add = [](Last& to, const Last& from, uint64_t which) {
    Last before = to;
    to.entry |= from.entry & which;
    to.write |= from.write & which;
    to.place |= from.place & which;
    return before.entry != to.entry || before.write != to.write || before.place != to.place;
  };
  while (!work.empty()) {
    unsigned index = work.back();
    work.pop_back();
    Last last = in[index];
    for (int step : blocks[index].steps) {
      if (step == kPlace) {
        add(orders.before_place, last, ~0ULL);
        last = {0, 0, ~0ULL};
      } else {
        uint64_t bit = 1ULL << static_cast<unsigned>(step);
        add(orders.before_write, last, bit);
        last.entry &= ~bit;
        last.place &= ~bit;
        last.write |= bit;
      }
    }
    if (blocks[index].successors.empty()) add(orders.before_exit, last, ~0ULL);
    for (unsigned next : blocks[index].successors)
      if (add(in[next], last, ~0ULL)) work.push_back(next);
  }
  return orders;
}

bool is_machine_write(const MachineInstr& instruction) {
  if (instruction.isCall()) return true;
  if (!instruction.mayStore() || instruction.getFlag(MachineInstr::FrameSetup)) return false;
  // Spills and outgoing arguments are the compiler's own.
  return instruction.memoperands_empty() ||
         !all_of(instruction.memoperands(), [](const MachineMemOperand* operand) {
           const PseudoSourceValue* source = operand->getPseudoValue();
           return source && (source->isStack() || isa<FixedStackPseudoSourceValue>(source));
         });
}

// The ordinal that an instruction of the machine code has kept.
unsigned ordinal_of(const MachineInstr& instruction) {
  const DILocation* at = instruction.getDebugLoc();
  return at ? at->getLine() : kNobody;
}

std::optional<unsigned> instance_of(const MachineInstr& instruction) {
  if (!instruction.isDebugLabel()) return std::nullopt;
  auto instance = parse_instance(instruction.getDebugLabel()->getName());
  return instance ? std::optional(static_cast<unsigned>(*instance)) : std::nullopt;
}

struct Range {
  const Value* base;
  int64_t offset;
};

} // namespace

// Branch folding makes identical writes of several paths one.
struct CodeOrder::Merged {
  bool is_call = false;
  std::string callee;
  struct Memory {
    Range range;
    uint64_t size;
  };
  std::vector<Memory> memory; // what it may write; empty: not known
};

namespace {

std::string callee_of(const MachineInstr& call) {
  for (const MachineOperand& operand : call.operands()) {
    if (operand.isGlobal()) return operand.getGlobal()->getName().str();
    if (operand.isSymbol()) return operand.getSymbolName();
  }
  return "";
}

Range range_of(const Value* pointer, const DataLayout& layout) {
  APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  const Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  return {base, offset.getSExtValue()};
}

} // namespace

// Does the merged write stand for this one, among others?
CodeOrder::Match CodeOrder::match(const Merged& merged, const Write& write) {
  if (write.is_call) {
    if (!merged.is_call) return Match::kNone;
    if (write.callee.empty() || merged.callee.empty()) return Match::kPossible;
    return write.callee == merged.callee ? Match::kSure : Match::kNone;
  }
  if (merged.is_call) // memcpy and the like
    return !write.base || write.size == 0 || write.size > 16 ? Match::kPossible : Match::kNone;
  if (merged.memory.empty() || !write.base) return Match::kPossible;
  Match best = Match::kNone;
  for (const Merged::Memory& memory : merged.memory) {
    if (memory.range.base != write.base) {
      if (!isIdentifiedObject(memory.range.base) || !isIdentifiedObject(write.base))
        best = std::max(best, Match::kPossible);
    } else if (write.size == 0 || (memory.range.offset < write.offset + static_cast<int64_t>(write.size) &&
                                   write.offset < memory.range.offset + static_cast<int64_t>(memory.size))) {
      best = Match::kSure;
    }
  }
  return best;
}

void CodeOrder::record(Function& function, const std::function<void(Target&, size_t)>& spare) {
  Skeleton& skeleton = skeletons_[&function];
  const DataLayout& layout = function.getDataLayout();
  std::map<const BasicBlock*, unsigned> numbers;
  for (BasicBlock& block : function)
    numbers.emplace(&block, static_cast<unsigned>(numbers.size()));
  // Targets first: a stack slot is known by the line that it has now.
  std::map<const Instruction*, Target> targets;
  EscapingSlots escaping;
  for (BasicBlock& block : function)
    for (Instruction& instruction : block)
      if (is_memory_write(instruction)) targets[&instruction] = target_of_write(instruction, escaping);
  std::vector<unsigned> labels;
  unsigned ordinal = kNobody;
  for (BasicBlock& block : function) {
    Block& out = skeleton.blocks.emplace_back();
    for (BasicBlock* next : successors(&block))
      out.successors.push_back(numbers[next]);
    size_t before = labels.size();
    for (Instruction& instruction : block) {
      for (DbgRecord& record : instruction.getDbgRecordRange())
        if (auto* label = dyn_cast<DbgLabelRecord>(&record))
          if (auto instance = parse_instance(label->getLabel()->getName()))
            labels.push_back(out.ordinals.emplace_back(kLabel + static_cast<unsigned>(*instance)));
      instruction.setDebugLoc(DILocation::get(function.getContext(), ++ordinal, 0, function.getSubprogram()));
      auto target = targets.find(&instruction);
      if (target == targets.end()) continue;
      Write write{target->second};
      if (auto* call = dyn_cast<CallBase>(&instruction); call && !isa<MemIntrinsic>(call)) {
        write.is_call = true;
        write.is_visible = !isa<IntrinsicInst>(call);
        if (const Function* callee = call->getCalledFunction()) write.callee = callee->getName().str();
      }
      if (const Value* pointer = written_pointer(instruction)) {
        Range range = range_of(pointer, layout);
        write.base = const_cast<Value*>(range.base);
        write.offset = range.offset;
        write.size = written_size(instruction);
        write.target.pointer = pointer;
        write.target.offset = 0;
        write.target.size = write.size;
      }
      out.ordinals.push_back(ordinal);
      skeleton.writes[ordinal] = write;
    }
    if (before == labels.size() || skeleton.writes.contains(ordinal)) continue;
    out.ordinals.push_back(ordinal);
    for (; before < labels.size(); ++before)
      skeleton.ends[labels[before]] = ordinal;
  }
  for (auto& [number, write] : skeleton.writes) {
    for (unsigned label : labels) {
      Target target = write.target;
      spare(target, label - kLabel);
      if (target.spares_own || target.spares_behind || target.escapes != write.target.escapes)
        skeleton.seen_from[{label, number}] = target;
    }
  }
}

void CodeOrder::put_in_order(MachineFunction& function) {
  comparison_.reset();
  auto found = skeletons_.find(&function.getFunction());
  if (found == skeletons_.end()) return;
  std::map<unsigned, std::pair<const Block*, size_t>> places; // of labels, in the skeleton
  for (const Block& block : found->second.blocks)
    for (size_t i = 0; i < block.ordinals.size(); ++i)
      if (block.ordinals[i] >= kLabel) places[block.ordinals[i]] = {&block, i};
  for (MachineBasicBlock& block : function) {
    std::map<std::pair<const Block*, size_t>, MachineInstr*> labels; // in the order of the skeleton
    for (MachineInstr& instruction : block)
      if (auto instance = instance_of(instruction))
        if (auto place = places.find(kLabel + *instance); place != places.end())
          labels[place->second] = &instruction;
    if (labels.empty()) continue;
    // Instructions have even positions; a label that was moved has the odd one behind what it follows.
    std::map<const MachineInstr*, size_t> positions; // of labels
    struct LastWrite {
      size_t position = 0;
      MachineInstr* write = nullptr;
    };
    std::map<unsigned, LastWrite> last_of; // by ordinal
    size_t position = 0;
    for (MachineInstr& instruction : block) {
      position += 2;
      if (instruction.isDebugLabel())
        positions[&instruction] = position;
      else if (is_machine_write(instruction))
        last_of[ordinal_of(instruction)] = {position, &instruction};
    }
    MachineInstr* previous = nullptr;
    size_t previous_position = 0;
    LastWrite last; // of those that belong ahead of the label
    const Block* home = nullptr;
    size_t next = 0; // ordinal of that block
    for (auto [place, label] : labels) {
      if (place.first != home) {
        previous = nullptr;
        last = {};
        next = 0;
      }
      home = place.first;
      for (; next < place.second; ++next)
        if (auto write = last_of.find(home->ordinals[next]);
            write != last_of.end() && write->second.position > last.position)
          last = write->second;
      size_t own = positions.at(label);
      MachineInstr* follows = last.position > own ? last.write : nullptr;
      if (previous && previous_position > own && previous_position > last.position) follows = previous;
      if (follows) {
        own = follows == previous ? previous_position : last.position + 1;
        block.splice(std::next(follows->getIterator()), &block, label->getIterator());
      }
      previous = label;
      previous_position = own;
    }
  }
}

// Ordinals of the skeleton that are not in the same order in the machine code. What is left is in the same
// blocks, one after the other as before: of two that are left, nothing has changed.
std::set<unsigned> CodeOrder::find_moved(const Skeleton& skeleton, const std::vector<Block>& blocks) {
  std::set<unsigned> moved;
  bool has_same_shape = skeleton.blocks.size() == blocks.size();
  for (size_t i = 0; i < blocks.size() && has_same_shape; ++i)
    has_same_shape = skeleton.blocks[i].successors == blocks[i].successors;
  if (!has_same_shape) {
    for (const Block& block : skeleton.blocks)
      moved.insert(block.ordinals.begin(), block.ordinals.end());
    return moved;
  }
  std::map<unsigned, unsigned> count; // in the machine code
  for (const Block& block : blocks)
    for (unsigned ordinal : block.ordinals)
      ++count[ordinal];
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::map<unsigned, size_t> before; // places in the skeleton's block
    for (size_t at = 0; at < skeleton.blocks[i].ordinals.size(); ++at)
      before[skeleton.blocks[i].ordinals[at]] = at;
    // The longest part of the block that is in order.
    struct Link {
      unsigned ordinal;
      size_t place;
      size_t previous;
    };
    constexpr size_t kNone = SIZE_MAX;
    std::vector<Link> links;
    std::vector<size_t> ends; // of parts by their length: the link with the least place
    for (unsigned ordinal : blocks[i].ordinals) {
      auto place = before.find(ordinal);
      if (place == before.end() || count[ordinal] != 1) continue;
      auto end =
          std::ranges::lower_bound(ends, place->second, {}, [&](size_t link) { return links[link].place; });
      links.push_back({ordinal, place->second, end == ends.begin() ? kNone : *std::prev(end)});
      if (end == ends.end())
        ends.push_back(links.size() - 1);
      else
        *end = links.size() - 1;
    }
    std::set<unsigned> stays;
    for (size_t link = ends.empty() ? kNone : ends.back(); link != kNone; link = links[link].previous)
      stays.insert(links[link].ordinal);
    for (unsigned ordinal : skeleton.blocks[i].ordinals)
      if (!stays.contains(ordinal)) moved.insert(ordinal);
  }
  return moved;
}

CodeOrder::Comparison CodeOrder::compare(const MachineFunction& function, const Skeleton& skeleton) {
  const DataLayout& layout = function.getDataLayout();
  Comparison result;
  result.function = &function;

  // 1. The machine code's writes, by ordinal.
  std::map<const MachineBasicBlock*, unsigned> numbers;
  for (const MachineBasicBlock& block : function)
    numbers.emplace(&block, static_cast<unsigned>(numbers.size()));
  std::set<unsigned> ends;
  for (const auto& [label, end] : skeleton.ends)
    ends.insert(end);
  auto is_end_of = [](const MachineBasicBlock& block, unsigned line) { // of one that leads here alone
    return block.pred_size() == 1 &&
           any_of((*block.pred_begin())->terminators(),
                  [&](const MachineInstr& last) { return ordinal_of(last) == line; });
  };
  std::vector<Block>& blocks = result.blocks;
  std::set<unsigned>& present = result.present;
  std::vector<Merged> merged;
  struct Wide {
    unsigned ordinal;
    Range range;
    uint64_t size;
  };
  std::vector<Wide> wide;
  for (const MachineBasicBlock& block : function) {
    Block& out = blocks.emplace_back();
    for (const MachineBasicBlock* next : block.successors())
      out.successors.push_back(numbers[next]);
    for (const MachineInstr& instruction : block) {
      if (auto instance = instance_of(instruction)) {
        out.ordinals.push_back(kLabel + *instance);
        present.insert(kLabel + *instance);
      }
      unsigned line = ordinal_of(instruction);
      // A branch may be several instructions; the first of them counts.
      if (ends.contains(line) && instruction.isTerminator() && !is_end_of(block, line) &&
          (out.ordinals.empty() || out.ordinals.back() != line)) {
        out.ordinals.push_back(line);
        present.insert(line);
      }
      if (!is_machine_write(instruction)) continue;
      if (line != kNobody && !skeleton.writes.contains(line)) continue; // a load's call into the runtime
      if (line == kNobody) {
        line = kMerged + static_cast<unsigned>(merged.size());
        Merged& one = merged.emplace_back();
        one.is_call = instruction.isCall();
        if (one.is_call) one.callee = callee_of(instruction);
      }
      present.insert(line);
      out.ordinals.push_back(line);
      for (const MachineMemOperand* operand : instruction.memoperands())
        if (operand->isStore() && operand->getValue() && operand->getSize().hasValue() &&
            !operand->getSize().isScalable()) {
          Range range = range_of(operand->getValue(), layout);
          range.offset += operand->getOffset();
          wide.push_back({line, range, operand->getSize().getValue().getFixedValue()});
          if (line >= kMerged) merged.back().memory.push_back({range, wide.back().size});
        }
    }
  }

  // 2. Each write of the skeleton against it, by batches. Those that became one with others go together.
  std::vector<Candidate>& all = result.candidates;
  std::vector<unsigned> gone;
  std::vector<Candidate> classes;
  for (const auto& [ordinal, write] : skeleton.writes) {
    if (present.contains(ordinal)) {
      all.push_back({{ordinal}, {ordinal}});
      continue;
    }
    // A merged one that surely writes there; else a wider one; else a merged one that may do so.
    Candidate own{{ordinal}, {}};
    auto take = [&](Match least) {
      for (size_t i = 0; i < merged.size(); ++i)
        if (match(merged[i], write) >= least) own.after.push_back(kMerged + static_cast<unsigned>(i));
      return !own.after.empty();
    };
    if (!take(Match::kSure)) {
      // One that has grown since: it took others in.
      auto is_grown = [&](const Wide& one) {
        auto before = skeleton.writes.find(one.ordinal);
        return before == skeleton.writes.end() || (before->second.size > 0 && before->second.size < one.size);
      };
      const Wide* cover = nullptr;
      for (const Wide& other : wide)
        if (write.base && other.range.base == write.base && write.size > 0 &&
            other.range.offset <= write.offset &&
            write.offset + static_cast<int64_t>(write.size) <=
                other.range.offset + static_cast<int64_t>(other.size) &&
            is_grown(other))
          if (!cover || cover->size < other.size) cover = &other;
      if (cover) {
        all.push_back({{ordinal}, {cover->ordinal}});
        continue;
      }
      if (!take(Match::kPossible)) {
        gone.push_back(ordinal);
        continue;
      }
    }
    // Classes that have a merged write in common are one.
    for (auto other = classes.begin(); other != classes.end();)
      if (std::find_first_of(other->after.begin(), other->after.end(), own.after.begin(), own.after.end()) !=
          other->after.end()) {
        own.before.insert(own.before.end(), other->before.begin(), other->before.end());
        own.after.insert(own.after.end(), other->after.begin(), other->after.end());
        other = classes.erase(other);
      } else {
        ++other;
      }
    classes.push_back(std::move(own));
  }
  for (unsigned ordinal : gone)
    all.push_back({{ordinal}, {}});
  for (Candidate& one : classes) {
    std::ranges::sort(one.after);
    one.after.erase(std::unique(one.after.begin(), one.after.end()), one.after.end());
    all.push_back(std::move(one));
  }
  for (const Block& block : skeleton.blocks)
    for (unsigned ordinal : block.ordinals)
      if (ordinal >= kLabel && present.contains(ordinal)) all.push_back({{ordinal}, {ordinal}});
  result.moved = find_moved(skeleton, blocks);
  // Looked at alone with a label, what has not moved is where it was, if the label is.
  std::ranges::copy_if(all, std::back_inserter(result.changed), [&](const Candidate& one) {
    return one.before.size() != 1 || one.before != one.after || result.moved.contains(one.before[0]);
  });
  return result;
}

CodeOrder::Found CodeOrder::look_at(const MachineInstr& label) {
  const MachineFunction& function = *label.getMF();
  auto found = skeletons_.find(&function.getFunction());
  if (found == skeletons_.end()) return {{Target{}}, true};
  const Skeleton& skeleton = found->second;
  unsigned place = kLabel + static_cast<unsigned>(*parse_instance(label.getDebugLabel()->getName()));
  if (!comparison_ || comparison_->function != &function) comparison_ = compare(function, skeleton);
  const std::vector<Block>& blocks = comparison_->blocks;
  const std::set<unsigned>& present = comparison_->present;
  const std::set<unsigned>& moved = comparison_->moved;
  auto end = skeleton.ends.find(place);

  std::vector<Candidate> all;
  bool has_moved = moved.contains(place);
  for (const Candidate& one : has_moved ? comparison_->candidates : comparison_->changed)
    if (one.before[0] != place) all.push_back(one);
  bool has_end = end != skeleton.ends.end() && present.contains(end->second);
  if (!has_moved && all.empty() && (!has_end || !moved.contains(end->second))) return {};
  if (has_end) all.push_back({{end->second}, {end->second}});
  all.push_back({}); // the place by itself
  Found result;
  std::vector<Target>& stale = result.stale;
  auto note = [&](unsigned ordinal) {
    auto exact = skeleton.seen_from.find({place, ordinal});
    stale.push_back(exact != skeleton.seen_from.end() ? exact->second : skeleton.writes.at(ordinal).target);
  };
  auto flow_of = [&](const std::vector<Block>& from, const std::multimap<unsigned, int>& numbers_of) {
    std::vector<FlowBlock> flow;
    flow.reserve(from.size());
    for (const Block& block : from) {
      FlowBlock& out = flow.emplace_back(FlowBlock{{}, block.successors});
      for (unsigned ordinal : block.ordinals) {
        if (ordinal == place) out.steps.push_back(kPlace);
        auto [first, last] = numbers_of.equal_range(ordinal);
        for (; first != last; ++first)
          out.steps.push_back(first->second);
      }
    }
    return flow;
  };
  for (size_t begin = 0; begin < all.size(); begin += 64) {
    size_t count = std::min<size_t>(64, all.size() - begin);
    std::multimap<unsigned, int> numbers_before;
    std::multimap<unsigned, int> numbers_after;
    for (size_t i = 0; i < count; ++i) {
      for (unsigned ordinal : all[begin + i].before)
        numbers_before.emplace(ordinal, static_cast<int>(i));
      for (unsigned ordinal : all[begin + i].after)
        numbers_after.emplace(ordinal, static_cast<int>(i));
    }
    Orders expected = find_orders(flow_of(skeleton.blocks, numbers_before));
    Orders actual = find_orders(flow_of(blocks, numbers_after));
    // Ahead of the label, or behind it although it may have come before.
    uint64_t ahead = (actual.before_place.entry & ~expected.before_place.entry) |
                     (actual.before_place.write & ~expected.before_place.write) |
                     (actual.before_place.place & ~expected.before_place.place);
    uint64_t behind = expected.before_place.write & actual.before_write.place & ~expected.before_write.place;
    // In a loop it comes before the label in any case, but not without one before it.
    ahead |= actual.before_write.entry & ~expected.before_write.entry;
    // Of a class nothing at all may have changed.
    uint64_t changed = (actual.before_place.entry ^ expected.before_place.entry) |
                       (actual.before_place.write ^ expected.before_place.write) |
                       (actual.before_place.place ^ expected.before_place.place) |
                       (actual.before_write.place ^ expected.before_write.place);
    for (size_t i = 0; i < count; ++i) {
      const Candidate& one = all[begin + i];
      uint64_t bit = 1ULL << i;
      bool leaves_without = (actual.before_exit.entry & ~expected.before_exit.entry & bit) != 0;
      if (one.before.empty()) {
        result.is_missed |= leaves_without;
        continue;
      }
      bool is_label = one.before[0] >= kLabel;
      if (end != skeleton.ends.end() && one.before[0] == end->second) {
        result.is_missed |= ((actual.before_write.entry & ~expected.before_write.entry) & bit) != 0 ||
                            ((actual.before_write.write & ~expected.before_write.write) & bit) != 0;
        continue;
      }
      bool is_class = !one.after.empty() && one.after[0] >= kMerged && !is_label;
      // A call ahead of it, from which there is a way out of the function now.
      auto call = skeleton.writes.find(one.before[0]);
      if (call != skeleton.writes.end() && call->second.is_visible && !is_class && !one.after.empty())
        result.is_missed |= (actual.before_exit.write & ~expected.before_exit.write & bit) != 0;
      bool bad = one.after.empty() ? (expected.before_place.write & bit) != 0
                 : is_class        ? (changed & bit) != 0
                                   : ((ahead | behind) & bit) != 0;
      if (!bad) continue;
      result.is_displaced |= is_label;
      if (is_label) continue;
      for (unsigned ordinal : one.before) {
        // Of writes that became one it is not known which is which.
        result.is_displaced |= skeleton.writes.at(ordinal).is_visible && !one.after.empty() && !is_class;
        note(ordinal);
        if (is_traced())
          stale.back().note = fmt::format("machine code: write {} {}{}", ordinal,
                                          one.after.empty() ? "is missing"
                                          : is_class        ? "was merged and moved"
                                                            : "moved",
                                          skeleton.writes.at(ordinal).is_call ? ", a call" : "");
      }
    }
  }
  return result;
}

} // namespace rdb::codegen
