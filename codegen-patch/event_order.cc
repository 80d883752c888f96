// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/event_order.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineMemOperand.h"
#include "llvm/CodeGen/PseudoSourceValue.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace rdb::codegen {

using namespace llvm;

bool slot_escapes(const Value& address) {
  for (const User* user : address.users()) {
    if (isa<LoadInst>(user)) continue;
    if (auto* store = dyn_cast<StoreInst>(user); store && store->getValueOperand() != &address) continue;
    if (isa<GetElementPtrInst, CastInst>(user)) {
      if (slot_escapes(*user)) return true;
      continue;
    }
    if (isa<MemIntrinsic>(user)) continue;
    if (auto* call = dyn_cast<IntrinsicInst>(user))
      if (call->isLifetimeStartOrEnd() || call->getIntrinsicID() == Intrinsic::var_annotation) continue;
    return true;
  }
  return false;
}

namespace {

unsigned line_of(const Instruction& instruction) {
  return instruction.getDebugLoc().getLine();
}

Target target_of(const Value* pointer) {
  Target target;
  const Value* object = getUnderlyingObject(pointer, 0);
  if (auto* slot = dyn_cast<AllocaInst>(object)) {
    target.kind = Target::Kind::kVariable;
    target.slot = line_of(*slot);
    target.escapes = slot_escapes(*slot);
  } else if (auto* global = dyn_cast<GlobalVariable>(object)) {
    target.kind = Target::Kind::kGlobal;
    target.global = global->getName().str();
  }
  return target;
}

bool is_marker(const CallBase& call) {
  return call.getIntrinsicID() == Intrinsic::annotation || call.getIntrinsicID() == Intrinsic::var_annotation;
}

constexpr unsigned kEntry = 1, kWrite = 2, kPlace = 4; // what came last, as a set

// Which of entry, write and place can come right before the place, and the place right before the write.
struct Order {
  unsigned before_place = 0;
  unsigned before_write = 0;
  unsigned before_exit = 0;
};

struct FlowBlock {
  std::vector<unsigned> steps; // kWrite or kPlace
  std::vector<unsigned> successors;
  bool exits = false;
};

Order find_order(const std::vector<FlowBlock>& blocks) {
  Order order;
  std::vector<unsigned> in(blocks.size(), 0);
  std::vector<unsigned> work{0};
  in[0] = kEntry;
  std::vector<bool> done(blocks.size(), false);
  while (!work.empty()) {
    unsigned index = work.back();
    work.pop_back();
    unsigned last = in[index];
    for (unsigned step : blocks[index].steps) {
      (step == kPlace ? order.before_place : order.before_write) |= last;
      last = step;
    }
    if (blocks[index].exits) order.before_exit |= last;
    for (unsigned next : blocks[index].successors)
      if ((in[next] | last) != in[next] || !done[next]) {
        in[next] |= last;
        done[next] = true;
        work.push_back(next);
      }
  }
  return order;
}

} // namespace

struct EventOrder::Level {
  const DISubprogram* subprogram;
  unsigned place; // ordinal of the marker, or of the call that leads to it
  const DILocation* inlined_at;
};

void EventOrder::record(Function& function, DISubprogram& subprogram) {
  unsigned ordinal = 1;
  for (BasicBlock& block : function)
    for (Instruction& instruction : block)
      instruction.setDebugLoc(DILocation::get(function.getContext(), ++ordinal, 0, &subprogram));
  subprograms_[&function] = &subprogram;
  Skeleton& skeleton = skeletons_[&subprogram];
  std::map<const BasicBlock*, unsigned> numbers;
  for (BasicBlock& block : function)
    numbers.emplace(&block, static_cast<unsigned>(numbers.size()));
  for (BasicBlock& block : function) {
    Block& out = skeleton.blocks.emplace_back();
    for (BasicBlock* next : successors(&block))
      out.successors.push_back(numbers[next]);
    out.exits = succ_empty(&block);
    for (Instruction& instruction : block) {
      auto* call = dyn_cast<CallBase>(&instruction);
      if (call && is_marker(*call)) {
        out.ordinals.push_back(line_of(instruction));
        continue;
      }
      if (call && call->isLifetimeStartOrEnd()) continue;
      if (call || instruction.mayWriteToMemory()) out.ordinals.push_back(line_of(instruction));
      if (!instruction.mayWriteToMemory()) continue;
      Event event;
      if (auto* store = dyn_cast<StoreInst>(&instruction))
        event.target = target_of(store->getPointerOperand());
      else if (auto* memory = dyn_cast<MemIntrinsic>(&instruction))
        event.target = target_of(memory->getDest());
      else if (call && isa<IntrinsicInst>(call) && call->onlyAccessesInaccessibleMemory())
        continue;
      if (call && !isa<IntrinsicInst>(call)) {
        event.is_call = true;
        if (Function* callee = call->getCalledFunction(); callee && !callee->isDeclaration())
          event.callee = callee->getSubprogram();
      }
      skeleton.events[line_of(instruction)] = event;
    }
  }
}

// Can a call of this function change memory that outlives it?
bool EventOrder::writes(const DISubprogram* subprogram, std::set<const DISubprogram*>& around) const {
  auto skeleton = skeletons_.find(subprogram);
  if (skeleton == skeletons_.end()) return true;
  if (!around.insert(subprogram).second) return false; // in a cycle: the others decide
  for (const auto& [ordinal, event] : skeleton->second.events) {
    if (event.is_call ? !event.callee || writes(event.callee, around)
                      : event.target.kind != Target::Kind::kVariable || event.target.escapes)
      return true;
  }
  return false;
}

namespace {

// The location of an instruction as seen from one inlined copy of a function: its line there, or that of the
// call through which it came.
std::optional<unsigned> line_in(const DILocation* location, const DISubprogram* subprogram,
                                const DILocation* inlined_at) {
  for (; location; location = location->getInlinedAt())
    if (location->getInlinedAt() == inlined_at && location->getScope()->getSubprogram() == subprogram)
      return location->getLine();
  return std::nullopt;
}

bool is_write(const MachineInstr& instruction) {
  if (instruction.isCall()) return true;
  if (!instruction.mayStore() || instruction.getFlag(MachineInstr::FrameSetup)) return false;
  // Spills and outgoing arguments are the compiler's own.
  if (!instruction.memoperands_empty() &&
      all_of(instruction.memoperands(), [](const MachineMemOperand* operand) {
        const PseudoSourceValue* source = operand->getPseudoValue();
        return source && (source->isStack() || isa<FixedStackPseudoSourceValue>(source));
      }))
    return false;
  return true;
}

} // namespace

void EventOrder::check_level(const Level& level, const MachineInstr& label,
                             std::vector<Target>& stale) const {
  auto found = skeletons_.find(level.subprogram);
  if (found == skeletons_.end()) {
    stale.push_back({});
    return;
  }
  const Skeleton& skeleton = found->second;
  const MachineFunction& function = *label.getMF();
  // The machine code's events on this level, and which inner events of inlined calls are still there.
  struct MachineBlock {
    std::vector<unsigned> ordinals;
    std::vector<unsigned> successors;
    bool exits;
  };
  std::map<const MachineBasicBlock*, unsigned> numbers;
  for (const MachineBasicBlock& block : function)
    numbers.emplace(&block, static_cast<unsigned>(numbers.size()));
  std::vector<MachineBlock> blocks;
  std::set<unsigned> calls;                     // events that are still calls
  std::map<unsigned, std::set<unsigned>> inner; // events seen inside an inlined call
  for (const MachineBasicBlock& block : function) {
    MachineBlock& out = blocks.emplace_back();
    for (const MachineBasicBlock* next : block.successors())
      out.successors.push_back(numbers[next]);
    out.exits = block.succ_empty();
    for (const MachineInstr& instruction : block) {
      if (instruction.isDebugLabel()) {
        if (line_in(instruction.getDebugLoc(), level.subprogram, level.inlined_at) == level.place &&
            (&instruction == &label ||
             instruction.getDebugLabel()->getScope() == label.getDebugLabel()->getScope()))
          out.ordinals.push_back(level.place);
        continue;
      }
      if (!is_write(instruction)) continue;
      const DILocation* location = instruction.getDebugLoc();
      auto line = line_in(location, level.subprogram, level.inlined_at);
      if (!line || !skeleton.events.contains(*line)) continue;
      out.ordinals.push_back(*line);
      if (location->getInlinedAt() == level.inlined_at)
        calls.insert(*line);
      else
        for (const DILocation* next = location; next; next = next->getInlinedAt())
          if (next->getInlinedAt() && next->getInlinedAt()->getInlinedAt() == level.inlined_at)
            inner[*line].insert(next->getLine());
    }
  }
  std::vector<FlowBlock> source;
  source.reserve(skeleton.blocks.size());
  for (const Block& block : skeleton.blocks)
    source.push_back({{}, block.successors, block.exits});
  std::vector<FlowBlock> machine;
  machine.reserve(blocks.size());
  for (const MachineBlock& block : blocks)
    machine.push_back({{}, block.successors, block.exits});
  bool anything = false; // is something known to be stale that a pointer may lead to
  for (const auto& [ordinal, event] : skeleton.events) {
    if (ordinal == level.place) continue;
    if (anything && event.target.kind == Target::Kind::kUnknown) continue; // says nothing new
    if (event.callee) {
      std::set<const DISubprogram*> around;
      if (!writes(event.callee, around)) continue;
    }
    auto set_steps = [&](std::vector<FlowBlock>& flow, const auto& from) {
      for (size_t i = 0; i < flow.size(); ++i) {
        flow[i].steps.clear();
        for (unsigned other : from[i].ordinals) {
          if (other == level.place) flow[i].steps.push_back(kPlace);
          if (other == ordinal) flow[i].steps.push_back(kWrite);
        }
      }
    };
    set_steps(source, skeleton.blocks);
    set_steps(machine, blocks);
    Order expected = find_order(source);
    Order actual = find_order(machine);
    if (level.inlined_at) {
      // One call's end may be followed by the next one's begin.
      if (expected.before_place & kEntry) expected.before_place |= expected.before_exit;
      if (expected.before_write & kEntry) expected.before_write |= expected.before_exit;
    }
    bool displaced = (actual.before_place & ~expected.before_place) != 0 ||
                     ((actual.before_write & ~expected.before_write) & kPlace) != 0;
    // An inlined call must still have all its writes, if any of them matters before the place.
    if (!displaced && event.callee && !calls.contains(ordinal) && (expected.before_place & kWrite)) {
      const Skeleton& callee = skeletons_.at(event.callee);
      for (const auto& [inner_ordinal, inner_event] : callee.events) {
        if (!inner_event.is_call && inner_event.target.kind == Target::Kind::kVariable &&
            !inner_event.target.escapes)
          continue;
        std::set<const DISubprogram*> around;
        if (inner_event.callee && !writes(inner_event.callee, around)) continue;
        if (!inner[ordinal].contains(inner_ordinal)) displaced = true;
      }
    }
    if (displaced) stale.push_back(event.target);
    anything |= displaced && event.target.kind == Target::Kind::kUnknown;
  }
}

bool EventOrder::lost_recursion(const MachineInstr& label) const {
  for (const DILocation* location = label.getDebugLoc(); location; location = location->getInlinedAt()) {
    const DISubprogram* subprogram = location->getScope()->getSubprogram();
    auto skeleton = skeletons_.find(subprogram);
    if (skeleton == skeletons_.end()) return true;
    for (const auto& [ordinal, event] : skeleton->second.events) {
      if (event.callee != subprogram) continue;
      bool found = false;
      for (const MachineBasicBlock& block : *label.getMF())
        for (const MachineInstr& instruction : block)
          found |= instruction.isCall() &&
                   line_in(instruction.getDebugLoc(), subprogram, location->getInlinedAt()) == ordinal;
      if (!found) return true;
    }
  }
  return false;
}

std::vector<Target> EventOrder::stale_at(const MachineInstr& label) const {
  std::vector<Target> stale;
  for (const DILocation* location = label.getDebugLoc(); location; location = location->getInlinedAt())
    check_level({location->getScope()->getSubprogram(), location->getLine(), location->getInlinedAt()}, label,
                stale);
  return stale;
}

} // namespace rdb::codegen
