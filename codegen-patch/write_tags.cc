// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stores to memory that pointers may lead to are tied to their marks the way LLVM's assignment tracking does
// it (!DIAssignID), which passes keep when they merge stores; other writes are known by their debug location.
#include "codegen-patch/write_tags.h"

#include "codegen-patch/debug_names.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <set>

namespace rdb::codegen {

using namespace llvm;

static constexpr uint64_t kAnySize = 1ULL << 40; // bits, of a write whose size is not known

bool WriteTags::is_mark(StringRef name) {
  return name.starts_with(kMarkName);
}

bool WriteTags::is_quiet(const Function& function) {
  if (function.isDeclaration()) return function.onlyReadsMemory();
  auto [known, is_new] = quiet_.try_emplace(function.getName().str(), false); // of recursion: no
  if (!is_new || function.isInterposable()) return known->second;
  for (const BasicBlock& block : function)
    for (const Instruction& instruction : block) {
      if (!is_memory_write(instruction)) continue;
      const Value* pointer = instruction.isVolatile() ? nullptr : written_pointer(instruction);
      if (pointer && isa<AllocaInst>(getUnderlyingObject(pointer, 0))) continue;
      auto* call = dyn_cast<CallBase>(&instruction);
      const Function* callee = call && !isa<IntrinsicInst>(call) ? call->getCalledFunction() : nullptr;
      if (!callee || !is_quiet(*callee)) return false;
    }
  return quiet_[function.getName().str()] = true;
}

void WriteTags::record_globals(const Module& module) {
  for (const GlobalVariable& variable : module.globals())
    if (variable.hasLocalLinkage() && !slot_escapes(variable))
      without_pointers_.insert(variable.getName().str());
}

void WriteTags::record(Function& function, DISubprogram& subprogram, DIBuilder& builder, Marks marks) {
  LLVMContext& context = function.getContext();
  unsigned ordinal = 1;
  for (BasicBlock& block : function)
    for (Instruction& instruction : block)
      if (marks != Marks::kOnlyPlacesOfCalls || isa<CallBase>(instruction))
        instruction.setDebugLoc(DILocation::get(context, ++ordinal, 0, &subprogram));
  if (marks != Marks::kWrites) return;
  EscapingSlots escaping;
  for (BasicBlock& block : function)
    for (Instruction& instruction : block) {
      auto* call = dyn_cast<CallBase>(&instruction);
      if (call && call->getCalledFunction() == &function)
        self_calls_[&subprogram].push_back(instruction.getDebugLoc().getLine());
      if (!is_memory_write(instruction)) continue;
      if (call && call->getCalledFunction() && is_quiet(*call->getCalledFunction())) continue;
      const Value* pointer = written_pointer(instruction);
      if (pointer && isa<StoreInst>(instruction) && is_simple_slot(pointer, escaping)) continue;
      auto number = static_cast<unsigned>(tags_.size());
      Tag& tag = tags_.emplace_back();
      tag.target = target_of_write(instruction, escaping);
      if (tag.target.kind == Target::Kind::kGlobal) tag.target.escapes = is_pointed_to(tag.target.global);
      tag.is_call = call && !isa<IntrinsicInst>(call);
      tag.callee = callee_name(instruction);
      tag.has_code = call && call->getCalledFunction() && !call->getCalledFunction()->isDeclaration();
      tag.size = written_size(instruction);
      tag_at_[{&subprogram, instruction.getDebugLoc().getLine()}] = number;
      std::string name = kMarkName + std::to_string(number);
      DILocation* at = instruction.getDebugLoc();
      tag.is_tied = isa<StoreInst, MemIntrinsic>(instruction) && tag.target.kind != Target::Kind::kVariable;
      DbgRecord* mark = nullptr;
      if (tag.is_tied) {
        auto* id = DIAssignID::getDistinct(context);
        instruction.setMetadata(LLVMContext::MD_DIAssignID, id);
        // As large as what is written: a pass that cuts off a part makes a mark of its own for that.
        uint64_t bits = tag.size > 0 && tag.size < kAnySize / 8 ? tag.size * 8 : kAnySize;
        DILocalVariable* variable =
            builder.createAutoVariable(&subprogram, name, subprogram.getFile(), 1,
                                       builder.createBasicType("mark", bits, dwarf::DW_ATE_unsigned));
        // Its value is the length, which inlining may make known; of a store the address, so that copies for
        // other turns of a loop are not taken for the same.
        auto* memory = dyn_cast<MemIntrinsic>(&instruction);
        Value* value = memory ? memory->getLength() : const_cast<Value*>(pointer);
        mark =
            DbgVariableRecord::createDVRAssign(value, variable, builder.createExpression(), id,
                                               const_cast<Value*>(pointer), builder.createExpression(), at);
        // Once the store is gone, a mark that says the same as the one before it in its block is dropped:
        // that of the turn before, in an unrolled loop. So something else is said of a part of it in between.
        DIExpression* first_bit = builder.createExpression({dwarf::DW_OP_LLVM_fragment, 0, 1});
        block.insertDbgRecordBefore(DbgVariableRecord::createDbgVariableRecord(ConstantInt::getFalse(context),
                                                                               variable, first_bit, at),
                                    instruction.getIterator());
      } else {
        mark = new DbgLabelRecord(builder.createLabel(&subprogram, name, subprogram.getFile(), at->getLine(),
                                                      0, false, std::nullopt),
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
        // The call itself, or code that was inlined through it; not a copy that is made for the call.
        for (const DILocation* at = instruction.getDebugLoc(); at; at = at->getInlinedAt())
          if (at->getInlinedAt() == level->getInlinedAt() && at->getScope()->getSubprogram() == subprogram &&
              ((isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction)) ||
               at != instruction.getDebugLoc().get()))
            missing.erase(at->getLine());
      }
    if (!missing.empty()) return true;
  }
  return false;
}

WriteTags::Home WriteTags::home_of(const DILocation& place) {
  return {place.getScope()->getSubprogram(), place.getLine(), place.getInlinedAt()};
}

void WriteTags::before_removal(const Function& function) {
  marks_of_slots_.clear();
  for (const Instruction& instruction : instructions(function))
    for (const DbgVariableRecord& mark : filterDbgVars(instruction.getDbgRecordRange())) {
      if (!mark.isDbgAssign() || mark.isKillAddress() || !is_mark(mark.getVariable()->getName())) continue;
      auto* slot = dyn_cast<AllocaInst>(getUnderlyingObject(mark.getAddress(), 0));
      if (slot && slot->getDebugLoc() && mark.getAddressExpression()->getElements().empty())
        marks_of_slots_[{mark.getVariable(), mark.getDebugLoc().getInlinedAt()}] = {
            home_of(*slot->getDebugLoc()), mark.getAddress()};
    }
}

void WriteTags::after_removal(Function& function, bool in_parts) {
  if (marks_of_slots_.empty()) return;
  std::set<const Metadata*> written;
  std::set<Home> slots;
  for (const Instruction& instruction : instructions(function)) {
    if (const MDNode* id = instruction.getMetadata(LLVMContext::MD_DIAssignID)) written.insert(id);
    if (isa<AllocaInst>(instruction) && instruction.getDebugLoc())
      slots.insert(home_of(*instruction.getDebugLoc()));
  }
  for (Instruction& instruction : instructions(function))
    for (DbgRecord& record : make_early_inc_range(instruction.getDbgRecordRange())) {
      auto* mark = dyn_cast<DbgVariableRecord>(&record);
      if (!mark || !mark->isDbgAssign() || !mark->isKillAddress()) continue;
      auto slot = marks_of_slots_.find({mark->getVariable(), mark->getDebugLoc().getInlinedAt()});
      if (slot == marks_of_slots_.end() || written.contains(mark->getAssignID())) continue;
      if (in_parts || !slots.contains(slot->second.slot))
        mark->eraseFromParent();
      else if (slot->second.address)
        mark->setAddress(slot->second.address);
    }
  marks_of_slots_.clear();
}

void WriteTags::mark_vectorised(Function& function) const {
  LLVMContext& context = function.getContext();
  for (Instruction& instruction : instructions(function)) {
    const DILocation* at = instruction.getDebugLoc();
    if (!isa<StoreInst>(instruction) || !at || instruction.getMetadata(LLVMContext::MD_DIAssignID)) continue;
    DISubprogram* scope = at->getScope()->getSubprogram();
    auto tag = tag_at_.find({scope, at->getLine()});
    if (tag == tag_at_.end() || !tags_[tag->second].is_tied) continue;
    auto* id = DIAssignID::getDistinct(context);
    instruction.setMetadata(LLVMContext::MD_DIAssignID, id);
    auto* pointer = const_cast<Value*>(written_pointer(instruction));
    uint64_t size = written_size(instruction);
    auto* type = DIBasicType::get(context, dwarf::DW_TAG_base_type, "mark", size * 8, 0,
                                  dwarf::DW_ATE_unsigned, 0, 0, DINode::FlagZero);
    auto* variable = DILocalVariable::get(context, scope, kMarkName + std::to_string(tag->second),
                                          scope->getFile(), 1, type, 0, DINode::FlagZero, 0, nullptr);
    auto* nothing = DIExpression::get(context, {});
    auto* mark = DbgVariableRecord::createDVRAssign(pointer, variable, nothing, id, pointer, nothing, at);
    instruction.getParent()->insertDbgRecordBefore(mark, instruction.getIterator());
  }
}

} // namespace rdb::codegen
