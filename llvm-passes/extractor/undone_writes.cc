// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/undone_writes.h"

#include "llvm-passes/extractor/guest_addresses.h"
#include "llvm-passes/link/slot_names.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace llvm;

namespace rdb::extractor {
namespace {

struct Write {
  Instruction* instruction;
  Value* address;
  Value* size; // in bytes
};

// The module's own, for sure: its variables on the stack and its globals.
bool is_own_memory(const Value* address) {
  const Value* object = getUnderlyingObject(address);
  return isa<AllocaInst>(object) || isa<GlobalVariable>(object);
}

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

// Functions of the C++ library that may change what they are given by pointer, and do not.
constexpr std::array<std::string_view, 12> kReaders = {"begin",
                                                       "end",
                                                       "rbegin",
                                                       "rend",
                                                       "data",
                                                       "front",
                                                       "back",
                                                       "at",
                                                       "operator[]",
                                                       "c_str",
                                                       "_Rb_tree_increment",
                                                       "_Rb_tree_decrement"};

// Functions that are const and change their object nevertheless.
constexpr std::array<std::string_view, 2> kConstWriters = {"_M_next_bkt", "_M_need_rehash"};

// Of std::string's own functions some make its parts while there is no string yet.
bool changes_made_string(std::string_view base) {
  constexpr std::array<std::string_view, 6> kChanges = {"_M_append", "_M_replace", "_M_replace_aux",
                                                        "_M_mutate", "_M_erase",   "_M_assign"};
  return !(base.starts_with("_M_") || base.starts_with("_S_")) || std::ranges::count(kChanges, base) != 0;
}

// The parameters in "(char const*, std::allocator<char>&)".
std::vector<StringRef> split_parameters(StringRef text) {
  std::vector<StringRef> result;
  text.consume_front("(");
  text.consume_back(")");
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    if (StringRef one = text.slice(begin, i).trim(); !one.empty() && one != "void") result.push_back(one);
    begin = i + 1;
  }
  return result;
}

bool may_be_written_through(StringRef parameter) {
  if (!parameter.consume_back("&&") && !parameter.consume_back("&") && !parameter.consume_back("*"))
    return false;
  return !parameter.rtrim().ends_with("const");
}

// What the name of a function of the C++ library tells.
struct LibraryFunction {
  std::vector<unsigned> written; // arguments that are pointers which it may write through
  bool changes_string = false;   // a member of std::string that changes it
};

LibraryFunction describe(const Function& function) {
  StringRef name = function.getName();
  constexpr std::array<std::string_view, 8> kLibrary = {"_ZNSt", "_ZNKSt", "_ZSt",          "_ZNSo",
                                                        "_ZNSi", "_ZNSs",  "_ZN9__gnu_cxx", "_ZNSd"};
  if (std::ranges::none_of(kLibrary, [&](std::string_view prefix) { return name.starts_with(prefix); }))
    return {};
  std::string mangled = name.str(); // the demangler points into it
  ItaniumPartialDemangler demangler;
  if (demangler.partialDemangle(mangled.c_str()) || !demangler.isFunction()) return {};
  auto text = [](char* made) {
    std::string result = made ? made : "";
    std::free(made);
    return result;
  };
  std::string base = text(demangler.getFunctionBaseName(nullptr, nullptr));
  if (std::ranges::count(kReaders, base) != 0) return {};
  std::string words = text(demangler.getFunctionParameters(nullptr, nullptr));
  std::vector<StringRef> parameters = split_parameters(words);
  unsigned first = function.arg_size() > 0 && function.hasParamAttribute(0, Attribute::StructRet) ? 1 : 0;
  bool is_member = function.arg_size() == first + parameters.size() + 1;
  // Else a parameter is passed in several parts, and which is which is not known.
  bool all_known = is_member || function.arg_size() == first + parameters.size();
  LibraryFunction result;
  if (is_member && (!demangler.hasFunctionQualifiers() || std::ranges::count(kConstWriters, base) != 0))
    result.written.push_back(first);
  for (size_t i = 0; all_known && i < parameters.size(); ++i)
    if (may_be_written_through(parameters[i]))
      result.written.push_back(first + static_cast<unsigned>(i) + (is_member ? 1 : 0));
  std::erase_if(result.written,
                [&](unsigned i) { return !function.getFunctionType()->getParamType(i)->isPointerTy(); });
  result.changes_string = name.starts_with("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE") &&
                          is_member && first == 0 && !demangler.isCtorOrDtor() && !result.written.empty() &&
                          result.written.front() == 0 && changes_made_string(base);
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

void lend_program_functions(Module& module) {
  std::vector<Function*> declared;
  for (Function& function : module)
    if (function.isDeclaration() && !function.isIntrinsic()) declared.push_back(&function);
  for (Function* function : declared) {
    LibraryFunction known = describe(*function);
    if (known.written.empty()) continue;
    for (Use& use : make_early_inc_range(function->uses())) {
      auto* call = dyn_cast<CallBase>(use.getUser());
      if (!call || !call->isCallee(&use)) continue;
      IRBuilder<> builder(call);
      if (known.changes_string)
        builder.CreateCall(support_function(module, "__rdb_keep_text", 1), {call->getArgOperand(0)});
      Value* is_programs = builder.getFalse();
      for (unsigned i : known.written)
        if (!isa<AllocaInst>(getUnderlyingObject(call->getArgOperand(i))))
          is_programs = builder.CreateOr(is_programs, is_guest_address(builder, call->getArgOperand(i)));
      if (is_programs == builder.getFalse()) continue;
      GlobalVariable& slot = program_slot(module, function->getName());
      Value* lent = builder.CreateLoad(slot.getValueType(), &slot);
      for (Attribute::AttrKind kind : {Attribute::NoReturn, Attribute::NoUnwind})
        if (function->hasFnAttribute(kind)) call->addFnAttr(kind);
      call->setCalledOperand(builder.CreateSelect(is_programs, lent, function));
    }
  }
}

} // namespace rdb::extractor
