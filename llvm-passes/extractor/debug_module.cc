// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whose is it? A debug function, and anything annotated "rdb": the module's. Constants, inline functions and
// (when the optimiser may have changed them) static functions: copied into the module. Everything else stays
// where it is and is reached through a pointer variable, its slot, that is filled at link or at load.
#include "llvm-passes/extractor/debug_module.h"

#include "llvm-passes/extractor/declarations.h"
#include "llvm-passes/extractor/guest_calls.h"
#include "llvm-passes/extractor/markers.h"
#include "llvm-passes/extractor/thread_variables.h"
#include "llvm-passes/extractor/undone_writes.h"
#include "llvm-passes/link/slot_names.h"
#include "rdbtool/base/error.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <map>
#include <optional>

namespace rdb::extractor {

namespace {

using namespace llvm;

// In the order in which they are found, so that every compile of the same text yields the same object.
using Globals = SetVector<GlobalValue*>;

// The constructor that fills the slots has the priority before it.
constexpr int kAfterStart = 102;

// Every global that a constant or an instruction refers to.
void collect_globals(const Value* value, Globals& result, std::set<const Value*>& seen) {
  if (auto* global = dyn_cast<GlobalValue>(value)) {
    result.insert(const_cast<GlobalValue*>(global));
    return;
  }
  if (!isa<Constant>(value) || !seen.insert(value).second) return;
  for (const Use& operand : cast<User>(value)->operands())
    collect_globals(operand.get(), result, seen);
}

Globals globals_of(Function& function) {
  Globals result;
  std::set<const Value*> seen;
  for (Instruction& instruction : instructions(function))
    for (const Use& operand : instruction.operands())
      collect_globals(operand.get(), result, seen);
  if (function.hasPersonalityFn()) collect_globals(function.getPersonalityFn(), result, seen);
  return result;
}

Globals globals_of(GlobalVariable& variable) {
  Globals result;
  std::set<const Value*> seen;
  if (variable.hasInitializer()) collect_globals(variable.getInitializer(), result, seen);
  return result;
}

class Reducer {
public:
  Reducer(Module& module, const ProgramSymbols& program, Extraction& extraction)
      : module_(module), program_(program), extraction_(extraction) {}

  void run() {
    find_debug_only();
    initialise_in_threads();
    bind_guest_calls();
    keep_roots();
    keep_constructors();
    refuse_writing_copies();
    drop_the_rest();
    initialise_at_start();
    lend_program_functions(module_);
    for (GlobalValue* global : slotted_)
      make_slot(*global);
    erase_unused();
    keep_overwritten_memory(module_);
    guard_assembly(module_);
    redirect_guest_calls(module_);
  }

private:
  // Annotated "rdb" by the user or because it stands in a region.
  void find_debug_only() {
    GlobalVariable* list = module_.getNamedGlobal("llvm.global.annotations");
    if (!list) return;
    if (auto* array = dyn_cast<ConstantArray>(list->getInitializer()))
      for (const Use& element : array->operands()) {
        auto* entry = dyn_cast<ConstantStruct>(element.get());
        if (!entry) continue;
        auto* text = dyn_cast<GlobalVariable>(entry->getOperand(1)->stripPointerCasts());
        auto* data = text && text->hasInitializer() ? dyn_cast<ConstantDataSequential>(text->getInitializer())
                                                    : nullptr;
        if (data && data->isCString() && data->getAsCString() == kDebugOnly)
          debug_only_.insert(cast<GlobalValue>(entry->getOperand(0)->stripPointerCasts()));
      }
    list->eraseFromParent();
  }

  void initialise_in_threads() {
    std::vector<Function*> initialisers;
    for (Function& function : module_)
      if (is_initialiser(function) && any_of(globals_of(function), [&](GlobalValue* used) {
            return used->isThreadLocal() && debug_only_.contains(used);
          }))
        initialisers.push_back(&function);
    thread_initialisers_.insert(initialisers.begin(), initialisers.end());
    for (GlobalValue* made : separate_thread_initialisers(
             module_, initialisers, [&](GlobalValue* variable) { return debug_only_.contains(variable); }))
      debug_only_.insert(made);
  }

  static bool is_initialiser(const Function& function) {
    return function.getName().starts_with("__cxx_global_var_init") && !function.isDeclaration();
  }

  // rdb_guest(f) is __rdb_guest(&f): the program's f, whoever else has one.
  void bind_guest_calls() {
    Function* guest = module_.getFunction("__rdb_guest");
    if (!guest) return;
    Type* pointer = PointerType::get(module_.getContext(), 0);
    for (User* user : make_early_inc_range(guest->users())) {
      auto* call = dyn_cast<CallBase>(user);
      if (!call || call->arg_size() != 1) continue;
      auto* target = dyn_cast<Function>(call->getArgOperand(0)->stripPointerCasts());
      if (!target) continue;
      std::string name = std::string(link::kGuestSlotPrefix) + target->getName().str();
      auto* slot = module_.getNamedGlobal(name);
      if (!slot) {
        slot = new GlobalVariable(module_, pointer, false, GlobalValue::ExternalLinkage, nullptr, name);
        slot->setVisibility(GlobalValue::HiddenVisibility);
        direct_.insert(slot);
      }
      IRBuilder<> builder(call);
      call->replaceAllUsesWith(builder.CreateLoad(pointer, slot));
      if (auto* invoke = dyn_cast<InvokeInst>(call)) {
        builder.CreateBr(invoke->getNormalDest());
        invoke->getUnwindDest()->removePredecessor(invoke->getParent());
      }
      call->eraseFromParent();
    }
  }

  void keep_roots() {
    for (const DebugFunction& function : extraction_.functions)
      if (function.refused.empty()) keep(module_.getFunction(function.symbol));
    for (GlobalValue* global : debug_only_)
      if (!global->isDeclaration()) keep(global);
  }

  // Constructors of debug-only objects: those initialisers that name one.
  void keep_constructors() {
    std::vector<Function*> constructors;
    for (Function& function : module_)
      if (is_initialiser(function) && !thread_initialisers_.contains(&function))
        for (GlobalValue* global : globals_of(function))
          if (debug_only_.contains(global)) {
            constructors.push_back(&function);
            break;
          }
    auto first = functions_of_list("llvm.global_ctors");
    auto last = functions_of_list("llvm.global_dtors");
    for (const char* list : {"llvm.global_ctors", "llvm.global_dtors", "llvm.used", "llvm.compiler.used"})
      if (GlobalVariable* variable = module_.getNamedGlobal(list)) variable->eraseFromParent();
    for (Function* function : constructors) {
      keep(function);
      appendToGlobalCtors(module_, function, 65535);
    }
    for (auto [function, priority] : first)
      appendToGlobalCtors(module_, function, priority);
    for (auto [function, priority] : last)
      appendToGlobalDtors(module_, function, priority);
  }

  // Debug-only functions with __attribute__((constructor)) or ((destructor)), and their priority.
  std::vector<std::pair<Function*, int>> functions_of_list(const char* name) {
    std::vector<std::pair<Function*, int>> result;
    GlobalVariable* list = module_.getNamedGlobal(name);
    auto* entries = list ? dyn_cast<ConstantArray>(list->getInitializer()) : nullptr;
    if (!entries) return result;
    for (const Use& element : entries->operands()) {
      auto* entry = dyn_cast<ConstantStruct>(element.get());
      auto* function = entry ? dyn_cast<Function>(entry->getOperand(1)->stripPointerCasts()) : nullptr;
      if (!function || !(debug_only_.contains(function) || has_debug_name(function->getName()))) continue;
      keep(function);
      result.emplace_back(function,
                          static_cast<int>(cast<ConstantInt>(entry->getOperand(0))->getZExtValue()));
    }
    return result;
  }

  static bool is_list(const GlobalValue& global) {
    return global.getName() == "llvm.global_ctors" || global.getName() == "llvm.global_dtors";
  }

  // A copy of a static function runs as debug code, and what that writes is not undone.
  void refuse_writing_copies() {
    for (GlobalValue* global : kept_) {
      auto* copy = dyn_cast<Function>(global);
      if (!copy || !copy->hasLocalLinkage() || debug_only_.contains(copy) || has_debug_name(copy->getName()))
        continue;
      const GlobalVariable* written = written_variable(*copy);
      if (!written) continue;
      for (DebugFunction* debug : regions_that_reach(*copy))
        debug->unavailable =
            fmt::format("it calls the static function '{}', which writes to '{}'; optimised code may not "
                        "have that function as it is written",
                        copy->getName().str(), written->getName().str());
    }
  }

  // A variable of the program that the function writes to by name.
  const GlobalVariable* written_variable(Function& function) const {
    for (Instruction& instruction : instructions(function)) {
      const Value* address = nullptr;
      if (auto* store = dyn_cast<StoreInst>(&instruction)) address = store->getPointerOperand();
      if (auto* memory = dyn_cast<MemIntrinsic>(&instruction)) address = memory->getRawDest();
      if (auto* update = dyn_cast<AtomicRMWInst>(&instruction)) address = update->getPointerOperand();
      if (auto* update = dyn_cast<AtomicCmpXchgInst>(&instruction)) address = update->getPointerOperand();
      auto* variable = address ? dyn_cast<GlobalVariable>(getUnderlyingObject(address)) : nullptr;
      if (variable && slotted_.contains(const_cast<GlobalVariable*>(variable))) return variable;
    }
    return nullptr;
  }

  // The regions that use something that is kept, by themselves or through functions that are.
  std::vector<DebugFunction*> regions_that_reach(GlobalValue& to) {
    if (!users_) {
      users_.emplace();
      for (GlobalValue* global : kept_)
        if (auto* function = dyn_cast<Function>(global))
          for (GlobalValue* used : globals_of(*function))
            (*users_)[used].push_back(function);
    }
    std::set<GlobalValue*> seen;
    std::vector<GlobalValue*> work;
    if (kept_.contains(&to)) work.push_back(&to);
    while (!work.empty()) {
      GlobalValue* next = work.back();
      work.pop_back();
      if (!seen.insert(next).second) continue;
      const std::vector<Function*>& users = (*users_)[next];
      work.insert(work.end(), users.begin(), users.end());
    }
    std::vector<DebugFunction*> result;
    for (DebugFunction& debug : extraction_.functions)
      if (Function* code = module_.getFunction(debug.symbol); code && seen.contains(code))
        result.push_back(&debug);
    return result;
  }

  const std::vector<DebugFunction*>& regions_that_use(GlobalValue& global) {
    if (!region_users_) {
      region_users_.emplace();
      for (DebugFunction& debug : extraction_.functions)
        if (Function* code = module_.getFunction(debug.symbol))
          for (GlobalValue* used : globals_of(*code))
            (*region_users_)[used].push_back(&debug);
    }
    return (*region_users_)[&global];
  }

  enum class Fate { kKeep, kSlot, kDirect };

  Fate decide(GlobalValue& global) {
    if (global.getName().starts_with("llvm.") || direct_.contains(&global)) return Fate::kDirect;
    if (debug_only_.contains(&global)) return global.isDeclaration() ? Fate::kSlot : Fate::kKeep;
    if (has_debug_name(global.getName()) && !global.isDeclaration()) return Fate::kKeep;
    if (auto* function = dyn_cast<Function>(&global)) {
      if (function->isIntrinsic()) return Fate::kDirect;
      if (function->isDeclaration()) return Fate::kSlot;
      if (function->hasLocalLinkage())
        return program_.local_functions.contains(function->getName().str()) ? Fate::kSlot : Fate::kKeep;
      return function->hasExternalLinkage() || function->hasExternalWeakLinkage() ||
                     function->hasWeakAnyLinkage()
                 ? Fate::kSlot
                 : Fate::kKeep;
    }
    auto* variable = dyn_cast<GlobalVariable>(&global);
    // A slot holds one address, a thread-local variable of the private C++ library has many.
    if (variable && variable->isDeclaration() && variable->isThreadLocal() &&
        variable->getName().starts_with("_ZSt"))
      return Fate::kDirect;
    if (!variable || variable->isDeclaration()) return Fate::kSlot;
    if (variable->hasPrivateLinkage() || is_guard_of_debug_variable(*variable)) return Fate::kKeep;
    // A class that only this unit knows, perhaps a region's own.
    if (variable->hasLocalLinkage() && describes_class(variable->getName()) &&
        !program_.local_variables.contains(variable->getName().str()))
      return Fate::kKeep;
    // A static that the program only reads may be gone from it; it never had another value than its first.
    if (variable->hasLocalLinkage() && !program_.local_variables.contains(variable->getName().str()) &&
        !variable->isThreadLocal() && is_only_read(*variable) && is_self_contained(*variable))
      return Fate::kKeep;
    if (variable->isConstant() && !variable->isThreadLocal() && is_self_contained(*variable))
      return variable->hasLocalLinkage() || variable->hasLinkOnceODRLinkage() || variable->hasWeakODRLinkage()
                 ? Fate::kKeep
                 : Fate::kSlot;
    return Fate::kSlot;
  }

  // Names that begin __rdb_ are debug code's, and so is what stands in functions of such names; mangled or
  // not.
  static bool has_debug_name(StringRef name) {
    return name.starts_with("__rdb_") || (name.starts_with("_Z") && name.contains("__rdb_"));
  }

  // Says whether a static local of debug code is initialised.
  bool is_guard_of_debug_variable(const GlobalVariable& variable) const {
    StringRef name = variable.getName();
    return name.consume_front("_ZGV") && debug_only_.contains(variable_named(module_, name));
  }

  // A vtable, type descriptor or its name.
  static bool describes_class(StringRef name) {
    return name.starts_with("_ZTV") || name.starts_with("_ZTI") || name.starts_with("_ZTS") ||
           name.starts_with("_ZTT") || name.starts_with("_ZTC");
  }

  // A variable that every unit may have a copy of: the program's if it has one, else the module's own, with
  // everything that it needs. Which of both, the link decides. Of type descriptors the module needs its own
  // in any case: catch clauses name them directly.
  bool may_be_missing(GlobalVariable& variable) const {
    StringRef name = variable.getName();
    return (variable.hasLinkOnceLinkage() || variable.hasWeakLinkage()) && !variable.isThreadLocal() &&
           variable.hasInitializer() &&
           (name.starts_with("_ZTI") || globals_of(variable).empty() ||
            !program_.global.contains(name.str()));
  }

  static bool is_only_read(Value& address) {
    for (User* user : address.users()) {
      if (isa<LoadInst>(user)) continue;
      if (isa<GetElementPtrInst>(user) || (isa<ConstantExpr>(user) && cast<ConstantExpr>(user)->isCast()) ||
          (isa<ConstantExpr>(user) && cast<ConstantExpr>(user)->getOpcode() == Instruction::GetElementPtr)) {
        if (!is_only_read(*user)) return false;
        continue;
      }
      return false;
    }
    return true;
  }

  // Are all symbols in its initialiser the module's own or the C++ runtime's?
  bool is_self_contained(GlobalVariable& variable) {
    auto [entry, is_new] = self_contained_.try_emplace(&variable, true);
    if (!is_new) return entry->second;
    for (GlobalValue* global : globals_of(variable)) {
      if (global->isDeclaration() &&
          (global->getName().starts_with("_ZTVN10__cxxabiv1") || global->getName() == "__cxa_pure_virtual"))
        continue;
      if (decide(*global) != Fate::kKeep) return self_contained_[&variable] = false;
    }
    return true;
  }

  void keep(GlobalValue* global) {
    if (kept_.insert(global)) keep_what_is_used(global);
  }

  void keep_what_is_used(GlobalValue* global) {
    Globals used;
    if (auto* function = dyn_cast<Function>(global)) {
      used = globals_of(*function);
      if (function->hasAvailableExternallyLinkage()) function->setLinkage(GlobalValue::LinkOnceODRLinkage);
    } else if (auto* variable = dyn_cast<GlobalVariable>(global)) {
      used = globals_of(*variable);
    }
    for (GlobalValue* next : used) {
      switch (decide(*next)) {
      case Fate::kKeep:
        keep(next);
        break;
      case Fate::kSlot:
        if (!slotted_.insert(next)) break;
        if (auto* variable = dyn_cast<GlobalVariable>(next); variable && may_be_missing(*variable)) {
          weak_.insert(variable);
          keep_what_is_used(variable);
        }
        break;
      case Fate::kDirect:
        break;
      }
    }
  }

  void drop_the_rest() {
    module_.setModuleInlineAsm("");
    for (const char* name : {"llvm.linker.options", "llvm.dependent-libraries", "llvm.commandline"})
      if (NamedMDNode* node = module_.getNamedMetadata(name)) node->eraseFromParent();
    for (GlobalAlias& alias : make_early_inc_range(module_.aliases())) {
      if (kept_.contains(&alias)) continue;
      // A name of the program's for something of the program's.
      auto* stand_in = new GlobalVariable(module_, Type::getInt8Ty(module_.getContext()), false,
                                          GlobalValue::ExternalLinkage, nullptr);
      std::string name = alias.getName().str();
      if (slotted_.remove(&alias)) slotted_.insert(stand_in);
      alias.replaceAllUsesWith(stand_in);
      alias.eraseFromParent();
      stand_in->setName(name);
    }
    for (Function& function : module_) {
      if (kept_.contains(&function) || function.isDeclaration()) continue;
      if (function.hasLocalLinkage()) internal_.insert(&function);
      function.deleteBody();
      function.setComdat(nullptr);
    }
    for (GlobalVariable& variable : module_.globals()) {
      if (kept_.contains(&variable) || variable.isDeclaration() || is_list(variable)) continue;
      if (variable.hasLocalLinkage()) internal_.insert(&variable);
      if (weak_.contains(&variable)) {
        variable.setLinkage(GlobalValue::WeakAnyLinkage);
        variable.setVisibility(GlobalValue::HiddenVisibility);
        variable.setComdat(nullptr);
        continue;
      }
      variable.setInitializer(nullptr);
      variable.setComdat(nullptr);
      variable.setLinkage(GlobalValue::ExternalLinkage);
    }
    for (GlobalValue* global : kept_)
      if (!global->hasLocalLinkage() && !global->getName().starts_with("__rdb_fn_"))
        global->setVisibility(GlobalValue::HiddenVisibility);
  }

  // Debug-only variables whose initialisers hold addresses that only slots know: a constructor of the module
  // puts them there, before any other runs.
  void initialise_at_start() {
    auto* type = FunctionType::get(Type::getVoidTy(module_.getContext()), false);
    auto* constructor =
        Function::Create(type, GlobalValue::InternalLinkage, "__rdb_initialise_variables", module_);
    IRBuilder<> builder(BasicBlock::Create(module_.getContext(), "", constructor));
    Globals own = kept_;
    own.insert(weak_.begin(), weak_.end());
    for (GlobalValue* global : own) {
      auto* variable = dyn_cast<GlobalVariable>(global);
      if (!variable || !variable->hasInitializer() || is_list(*variable) ||
          !holds_slotted(variable->getInitializer()))
        continue;
      if (variable->isThreadLocal()) refuse_users(*variable);
      // The module's own, even if the program has one and the slot will say so.
      GlobalValue* own_copy = variable;
      if (weak_.contains(variable))
        own_copy =
            GlobalAlias::create(GlobalValue::InternalLinkage, "__rdb_own_" + variable->getName(), variable);
      variable->setInitializer(store_slotted(builder, variable->getInitializer(), *own_copy, 0));
      variable->setConstant(false);
    }
    bool is_needed = !builder.GetInsertBlock()->empty();
    builder.CreateRetVoid();
    if (!is_needed) {
      constructor->eraseFromParent();
      return;
    }
    kept_.insert(constructor);
    appendToGlobalCtors(module_, constructor, kAfterStart);
  }

  // The constructor runs in one thread only.
  void refuse_users(GlobalVariable& variable) {
    for (DebugFunction* debug : regions_that_reach(variable))
      debug->unavailable = fmt::format("the thread-local debug variable '{}' begins with an address of the "
                                       "program; give it its value in a region",
                                       variable.getName().str());
  }

  bool holds_slotted(Constant* constant) const {
    Globals used;
    std::set<const Value*> seen;
    collect_globals(constant, used, seen);
    return any_of(used, [&](GlobalValue* global) { return slotted_.contains(global); });
  }

  // Stores the parts of an initialiser that need slots, and yields what is left of it.
  Constant* store_slotted(IRBuilder<>& builder, Constant* value, GlobalValue& variable, uint64_t offset) {
    if (!holds_slotted(value)) return value;
    const DataLayout& layout = module_.getDataLayout();
    if (!isa<ConstantAggregate>(value) || isa<ConstantVector>(value)) {
      Value* place = builder.CreateConstGEP1_64(builder.getInt8Ty(), &variable, offset);
      builder.CreateAlignedStore(value, place, Align(1));
      return Constant::getNullValue(value->getType());
    }
    auto* structure = dyn_cast<StructType>(value->getType());
    std::vector<Constant*> parts;
    for (unsigned i = 0; i < value->getNumOperands(); ++i) {
      auto* part = cast<Constant>(value->getOperand(i));
      uint64_t at = structure ? layout.getStructLayout(structure)->getElementOffset(i).getFixedValue()
                              : i * layout.getTypeAllocSize(part->getType()).getFixedValue();
      parts.push_back(store_slotted(builder, part, variable, offset + at));
    }
    if (structure) return ConstantStruct::get(structure, parts);
    return ConstantArray::get(cast<ArrayType>(value->getType()), parts);
  }

  void make_slot(GlobalValue& global) {
    // Type descriptors in catch clauses and personality routines must be constants: they are used directly.
    std::string symbol = global.getName().str();
    bool internal = internal_.contains(&global);
    std::string slot_name =
        internal ? fmt::format("__rdb_slot_{}_{}", extraction_.unit, symbol) : "__rdb_slot_" + symbol;
    if (internal) {
      global.setLinkage(GlobalValue::ExternalLinkage);
      if (!program_.local_variables.contains(symbol) && !program_.local_functions.contains(symbol)) {
        for (DebugFunction* function : regions_that_use(global))
          function->unavailable = fmt::format("the optimiser removed or changed the static '{}'", symbol);
      }
    }
    Type* pointer = PointerType::get(module_.getContext(), 0);
    auto* slot =
        new GlobalVariable(module_, pointer, false, GlobalValue::ExternalLinkage, nullptr, slot_name);
    slot->setVisibility(GlobalValue::HiddenVisibility);
    bool is_used = false;
    convertUsersOfConstantsToInstructions({&global});
    std::vector<Use*> uses;
    for (Use& use : global.uses())
      uses.push_back(&use);
    for (Use* use : uses) {
      auto* instruction = dyn_cast<Instruction>(use->getUser());
      if (!instruction || isa<LandingPadInst>(instruction)) continue;
      if (auto* selector = dyn_cast<IntrinsicInst>(instruction);
          selector && selector->getIntrinsicID() == Intrinsic::eh_typeid_for)
        continue;
      is_used = true;
      if (auto* address = dyn_cast<IntrinsicInst>(instruction);
          address && address->getIntrinsicID() == Intrinsic::threadlocal_address) {
        IRBuilder<> builder(address);
        address->replaceAllUsesWith(builder.CreateLoad(pointer, slot));
        dead_.push_back(address);
        continue;
      }
      if (auto* call = dyn_cast<CallBase>(instruction); call && call->isCallee(use))
        if (auto* callee = dyn_cast<Function>(&global)) keep_attributes(*call, *callee);
      Instruction* before = instruction;
      if (auto* phi = dyn_cast<PHINode>(instruction)) before = phi->getIncomingBlock(*use)->getTerminator();
      IRBuilder<> builder(before);
      use->set(builder.CreateLoad(pointer, slot));
    }
    for (Instruction* instruction : dead_)
      instruction->eraseFromParent();
    dead_.clear();
    auto* variable = dyn_cast<GlobalVariable>(&global);
    uint64_t size =
        variable ? module_.getDataLayout().getTypeAllocSize(variable->getValueType()).getFixedValue() : 0;
    if (is_used)
      extraction_.slots.push_back({symbol, slot_name, internal, global.isThreadLocal(), size});
    else
      slot->eraseFromParent();
  }

  // A call through a pointer does not see what the declaration says.
  static void keep_attributes(CallBase& call, Function& callee) {
    for (Attribute::AttrKind kind : {Attribute::NoReturn, Attribute::NoUnwind, Attribute::ReturnsTwice})
      if (callee.hasFnAttribute(kind)) call.addFnAttr(kind);
  }

  void erase_unused() {
    bool changed = true;
    auto is_dead = [&](GlobalValue& global) {
      global.removeDeadConstantUsers();
      return global.use_empty() && !kept_.contains(&global) && !weak_.contains(&global) && !is_list(global);
    };
    while (changed) {
      changed = false;
      for (Function& function : make_early_inc_range(module_))
        if (is_dead(function)) {
          function.eraseFromParent();
          changed = true;
        }
      for (GlobalVariable& variable : make_early_inc_range(module_.globals()))
        if (is_dead(variable)) {
          variable.eraseFromParent();
          changed = true;
        }
      for (GlobalIFunc& function : make_early_inc_range(module_.ifuncs()))
        if (is_dead(function)) function.eraseFromParent();
    }
  }

  Module& module_;
  const ProgramSymbols& program_;
  Extraction& extraction_;
  Globals debug_only_;
  Globals kept_;
  Globals slotted_;
  std::set<GlobalValue*> internal_;
  Globals weak_;                  // see may_be_missing()
  Globals thread_initialisers_;   // of debug-only variables
  std::set<GlobalValue*> direct_; // slots made by name
  std::map<GlobalVariable*, bool> self_contained_;
  std::vector<Instruction*> dead_;
  // Found when somebody asks: who uses a global, of the functions that are kept; and of the regions.
  std::optional<std::map<GlobalValue*, std::vector<Function*>>> users_;
  std::optional<std::map<GlobalValue*, std::vector<DebugFunction*>>> region_users_;
};

} // namespace

void reduce_to_debug_code(Module& module, const ProgramSymbols& program, Extraction& extraction) {
  Reducer(module, program, extraction).run();
}

} // namespace rdb::extractor
