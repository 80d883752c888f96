// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stack slot is known by its ordinal, which is the line of its debug location.
#include "codegen-patch/memory_target.h"

#include "llvm-passes/extractor/library_names.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

namespace rdb::codegen {

using namespace llvm;

bool slot_escapes(const Value& address) {
  for (const User* user : address.users()) {
    if (isa<LoadInst>(user)) continue;
    if (auto* store = dyn_cast<StoreInst>(user); store && store->getValueOperand() != &address) continue;
    if (isa<GEPOperator, CastInst>(user)) {
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

bool is_memory_write(const Instruction& instruction) {
  if (!instruction.mayWriteToMemory()) return false;
  if (auto* call = dyn_cast<CallBase>(&instruction))
    if (const Function* callee = call->getCalledFunction();
        callee && callee->isDeclaration() && extractor::leaves_memory_alone(callee->getName()))
      return false;
  if (auto* call = dyn_cast<IntrinsicInst>(&instruction)) {
    if (call->isLifetimeStartOrEnd() || call->onlyAccessesInaccessibleMemory()) return false;
    switch (call->getIntrinsicID()) {
    case Intrinsic::annotation:
    case Intrinsic::var_annotation:
    case Intrinsic::ptr_annotation:
    case Intrinsic::stacksave:
    case Intrinsic::stackrestore:
    case Intrinsic::invariant_start:
    case Intrinsic::invariant_end:
    case Intrinsic::assume:
    case Intrinsic::experimental_noalias_scope_decl:
      return false;
    default:
      return true;
    }
  }
  return true;
}

const Value* written_pointer(const Instruction& instruction) {
  if (auto* store = dyn_cast<StoreInst>(&instruction)) return store->getPointerOperand();
  if (auto* memory = dyn_cast<MemIntrinsic>(&instruction)) return memory->getDest();
  if (auto* exchange = dyn_cast<AtomicRMWInst>(&instruction)) return exchange->getPointerOperand();
  if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) return exchange->getPointerOperand();
  return nullptr;
}

uint64_t written_size(const Instruction& instruction) {
  if (auto* store = dyn_cast<StoreInst>(&instruction)) {
    TypeSize size = store->getDataLayout().getTypeStoreSize(store->getValueOperand()->getType());
    return size.isScalable() ? 0 : size.getFixedValue();
  }
  if (auto* memory = dyn_cast<MemIntrinsic>(&instruction))
    if (auto* length = dyn_cast<ConstantInt>(memory->getLength())) return length->getLimitedValue();
  return 0;
}

bool is_simple_slot(const Value* pointer, EscapingSlots& escaping) {
  auto* slot = dyn_cast<AllocaInst>(pointer);
  return slot && slot->isStaticAlloca() && slot->getAllocatedType()->isSingleValueType() &&
         !escaping.has(*slot);
}

std::string callee_name(const Instruction& instruction) {
  auto* call = dyn_cast<CallBase>(&instruction);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee ? callee->getName().str() : "";
}

Target global_target(const std::string& name) {
  Target target;
  target.kind = Target::Kind::kGlobal;
  target.global = name;
  target.escapes = true;
  return target;
}

bool may_touch(const Target& target, const Extent& bits) {
  // With an address the offset is from there.
  if (target.pointer || target.size == 0 || target.offset < 0) return true;
  auto begin = static_cast<uint64_t>(target.offset) * 8;
  return bits.overlaps({begin, begin + target.size * 8});
}

Target target_of_write(const Instruction& instruction, EscapingSlots& escaping) {
  Target target;
  const Value* pointer = written_pointer(instruction);
  if (!pointer) return target;
  target.type = instruction.getMetadata(LLVMContext::MD_tbaa);
  const Value* object = getUnderlyingObject(pointer, 0);
  if (auto* slot = dyn_cast<AllocaInst>(object)) {
    target.kind = Target::Kind::kVariable;
    if (const DILocation* home = slot->getDebugLoc()) {
      target.slot = home->getLine();
      target.scope = home->getScope()->getSubprogram();
      target.inlined_at = home->getInlinedAt();
    }
    target.escapes = escaping.has(*slot);
    const DataLayout& layout = instruction.getDataLayout();
    if (auto size = slot->getAllocationSize(layout)) target.slot_size = size->getFixedValue();
    APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
    if (pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true) == slot) {
      target.offset = offset.getSExtValue();
      target.size = written_size(instruction);
    }
  } else if (auto* global = dyn_cast<GlobalVariable>(object)) {
    target.kind = Target::Kind::kGlobal;
    target.global = global->getName().str();
    target.escapes = true; // see WriteTags::is_pointed_to
  }
  return target;
}

} // namespace rdb::codegen
