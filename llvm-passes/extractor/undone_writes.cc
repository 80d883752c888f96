// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/undone_writes.h"

#include "llvm-passes/extractor/guest_addresses.h"
#include "llvm-passes/extractor/library_functions.h"
#include "llvm-passes/link/slot_names.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <string>
#include <vector>

using namespace llvm;

namespace rdb::extractor {
namespace {

// In the order of Look.
constexpr const char* kLooks[] = {"__rdb_look_at_shared", "__rdb_look_at_stream", "__rdb_look_at_ios",
                                  "__rdb_look_at_buffer"};

struct Write {
  Instruction* instruction;
  Value* address;
  Value* size; // in bytes
};

std::vector<Write> writes_of(Function& function) {
  const DataLayout& layout = function.getParent()->getDataLayout();
  Type* word = Type::getInt64Ty(function.getContext());
  auto size_of = [&](Type* type) {
    return ConstantInt::get(word, layout.getTypeStoreSize(type).getFixedValue());
  };
  std::vector<Write> result;
  for (Instruction& instruction : instructions(function)) {
    Write write{&instruction, nullptr, nullptr};
    if (auto* store = dyn_cast<StoreInst>(&instruction))
      write = {store, store->getPointerOperand(), size_of(store->getValueOperand()->getType())};
    else if (auto* update = dyn_cast<AtomicRMWInst>(&instruction))
      write = {update, update->getPointerOperand(), size_of(update->getValOperand()->getType())};
    else if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
      write = {exchange, exchange->getPointerOperand(), size_of(exchange->getNewValOperand()->getType())};
    else if (auto* memory = dyn_cast<MemIntrinsic>(&instruction))
      write = {memory, memory->getRawDest(), memory->getLength()};
    if (write.address && write.address->getType()->getPointerAddressSpace() == 0 &&
        !is_own_memory(write.address))
      result.push_back(write);
  }
  return result;
}

// One of runtime-libs/module/memory.c, with an address and perhaps a size.
Function* support_function(Module& module, StringRef name, unsigned arguments) {
  LLVMContext& context = module.getContext();
  std::vector<Type*> types = {PointerType::get(context, 0), Type::getInt64Ty(context)};
  types.resize(arguments);
  auto* type = FunctionType::get(Type::getVoidTy(context), types, /*isVarArg=*/false);
  auto* function = cast<Function>(module.getOrInsertFunction(name, type).getCallee());
  function->setVisibility(GlobalValue::HiddenVisibility);
  return function;
}

// A variable that the link fills with the address of the program's function.
GlobalVariable& program_slot(Module& module, StringRef function) {
  std::string name = std::string(link::kLentSlotPrefix) + function.str();
  if (GlobalVariable* known = module.getNamedGlobal(name)) return *known;
  auto* slot = new GlobalVariable(module, PointerType::get(module.getContext(), 0), false,
                                  GlobalValue::ExternalLinkage, nullptr, name);
  slot->setVisibility(GlobalValue::HiddenVisibility);
  return *slot;
}

// Calls the program's function instead if it is an object of the program's that may change.
void lend(CallBase& call, Function& function, const LibraryFunction& known) {
  IRBuilder<> builder(&call);
  if (known.changes_string != 0)
    builder.CreateCall(support_function(*function.getParent(), "__rdb_keep_text", 2),
                       {call.getArgOperand(0), builder.getInt64(known.changes_string)});
  Value* is_programs = builder.getFalse();
  for (unsigned i : known.changed)
    if (!isa<AllocaInst>(getUnderlyingObject(call.getArgOperand(i))))
      is_programs = builder.CreateOr(is_programs, is_guest_memory(builder, call.getArgOperand(i)));
  if (is_programs == builder.getFalse()) return;
  GlobalVariable& slot = program_slot(*function.getParent(), function.getName());
  Value* lent = builder.CreateLoad(slot.getValueType(), &slot);
  if (known.own_serves) is_programs = builder.CreateAnd(is_programs, builder.CreateIsNotNull(lent));
  for (Attribute::AttrKind kind : {Attribute::NoReturn, Attribute::NoUnwind})
    if (function.hasFnAttribute(kind)) call.addFnAttr(kind);
  call.setCalledOperand(builder.CreateSelect(is_programs, lent, &function));
}

// For redirect_guest_calls(), which does not see the function any more.
void note_what_is_known(CallBase& call, const LibraryFunction& known) {
  LLVMContext& context = call.getContext();
  for (unsigned i = 0; i < call.arg_size(); ++i)
    if (i < known.only_reads.size() ? known.only_reads[i] : known.others_only_read)
      call.addParamAttr(i, Attribute::get(context, kOnlyReads));
  for (auto [i, look] : known.looks)
    call.addParamAttr(i, Attribute::get(context, kLook, kLooks[size_t(look)]));
  if (known.is_known) call.addFnAttr(Attribute::get(context, kKnown));
}

// Text of the assembler can store to any memory that it has an address of.
bool may_write_memory(const CallBase& call) {
  const auto& text = *cast<InlineAsm>(call.getCalledOperand());
  if (StringRef(text.getAsmString()).trim().empty()) return false;
  if (text.getConstraintString().contains("~{memory}")) return true;
  return any_of(call.args(), [](const Use& argument) {
    Type* type = argument->getType();
    return type->isPointerTy() || (type->isIntegerTy() && type->getIntegerBitWidth() >= 64);
  });
}

} // namespace

void keep_overwritten_memory(Module& module) {
  MDNode* rarely = MDBuilder(module.getContext()).createUnlikelyBranchWeights();
  std::vector<Function*> defined;
  for (Function& function : module)
    if (!function.isDeclaration()) defined.push_back(&function);
  for (Function* function : defined)
    for (const Write& write : writes_of(*function)) {
      IRBuilder<> builder(write.instruction);
      Value* is_guest = is_guest_address(builder, write.address);
      Instruction* then = SplitBlockAndInsertIfThen(is_guest, write.instruction->getIterator(),
                                                    /*Unreachable=*/false, rarely);
      IRBuilder<> inside(then);
      inside.SetCurrentDebugLocation(write.instruction->getDebugLoc());
      inside.CreateCall(support_function(module, "__rdb_keep", 2),
                        {write.address, inside.CreateZExt(write.size, inside.getInt64Ty())});
    }
}

void guard_assembly(Module& module) {
  std::vector<CallBase*> found;
  for (Function& function : module)
    for (Instruction& instruction : instructions(function))
      if (auto* call = dyn_cast<CallBase>(&instruction);
          call && call->isInlineAsm() && may_write_memory(*call))
        found.push_back(call);
  for (CallBase* call : found)
    IRBuilder<>(call).CreateCall(support_function(module, "__rdb_guard", 0));
}

void lend_program_functions(Module& module) {
  TargetLibraryInfoImpl names(Triple(module.getTargetTriple()));
  TargetLibraryInfo library(names);
  std::vector<Function*> declared;
  for (Function& function : module)
    if (function.isDeclaration() && !function.isIntrinsic()) declared.push_back(&function);
  for (Function* function : declared) {
    LibraryFunction known = describe(*function, library);
    for (Use& use : make_early_inc_range(function->uses())) {
      auto* call = dyn_cast<CallBase>(use.getUser());
      if (!call || !call->isCallee(&use)) continue;
      note_what_is_known(*call, known);
      if (!known.changed.empty()) lend(*call, *function, known);
    }
  }
}

} // namespace rdb::extractor
