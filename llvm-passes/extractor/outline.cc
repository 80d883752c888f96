// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A region is the code between its enter and its leave marker; the views see to it that nothing else leads in
// or out (a region's exceptions end in its own catch-all). So a copy of what is reached from the enter
// marker, which returns at the leave marker, is the debug function, once every value from before the region
// is replaced: variables by arguments, temporaries by fresh ones, `this` by a load of the variable behind it.
#include "llvm-passes/extractor/outline.h"

#include "llvm-passes/extractor/host.h"
#include "llvm-passes/extractor/library_names.h"
#include "llvm-passes/extractor/markers.h"
#include "llvm-passes/extractor/reads.h"

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

#include <fmt/format.h>
#include <map>
#include <set>

namespace rdb::extractor {

namespace {

using namespace llvm;

// The global variables that are annotated: as debug code.
std::set<const Value*> annotated_globals(const Module& module) {
  std::set<const Value*> result;
  if (const GlobalVariable* list = module.getNamedGlobal("llvm.global.annotations"))
    for (const Use& element : list->getInitializer()->operands())
      if (auto* entry = dyn_cast<ConstantStruct>(element.get())) result.insert(entry->getOperand(0));
  return result;
}

class Outliner {
public:
  Outliner(const Host& host, const RegionInHost& region, const std::set<const Value*>& annotated,
           DebugFunction& result)
      : host_(host), region_(region), annotated_(annotated), result_(result) {}

  void run() {
    make_function();
    copy_code();
    rethrow_what_escapes();
    try {
      resolve_outside_values();
    } catch (const std::runtime_error& error) {
      // The copy is of no use; what it leaves behind is an empty function that is never called.
      result_.refused = error.what();
      function_->deleteBody();
      function_->eraseFromParent();
      return;
    }
    EliminateUnreachableBlocks(*function_);
    note_dereferences();
  }

private:
  void make_function() {
    Function& host = host_.function();
    Module& module = *host.getParent();
    LLVMContext& context = module.getContext();
    auto* type = FunctionType::get(Type::getVoidTy(context), {PointerType::get(context, 0)}, false);
    function_ = Function::Create(type, GlobalValue::ExternalLinkage, result_.symbol, module);
    args_ = function_->getArg(0);
    args_->setName("args");
    entry_ = BasicBlock::Create(context, "", function_);
    function_->copyAttributesFrom(&host);
    function_->setAttributes(AttributeList::get(context, AttributeList::FunctionIndex,
                                                AttrBuilder(context, host.getAttributes().getFnAttrs())));
    function_->setVisibility(GlobalValue::DefaultVisibility);
    function_->setCallingConv(CallingConv::C);
    function_->setSection("");
    function_->removeFnAttr(Attribute::AlwaysInline);
    function_->copyMetadata(&host, 0);
  }

  // A region without its own catch-all (its variables are shared) must not run into the host's cleanups.
  bool is_cut_off(const InvokeInst& invoke) const {
    const LandingPadInst* pad = invoke.getLandingPadInst();
    return !region_.is_guarded && pad->isCleanup() && pad->getNumClauses() == 0;
  }

  // The blocks that the region leads to. Of the one with the enter marker only what follows it counts; that
  // one is reached again only where the host catches what the region throws, in a loop.
  std::set<BasicBlock*> find_blocks() {
    std::set<BasicBlock*> found;
    std::vector<Instruction*> work{region_.enter.call};
    while (!work.empty()) {
      Instruction* at = work.back();
      work.pop_back();
      if (!found.insert(at->getParent()).second) continue;
      while (!at->isTerminator() && !host_.is_leave(*at, region_.enter.region))
        at = at->getNextNode();
      if (!at->isTerminator()) continue;
      auto* invoke = dyn_cast<InvokeInst>(at);
      for (BasicBlock* successor : successors(at))
        if (successor == region_.enter.call->getParent())
          leads_back_ = true;
        else if (!invoke || successor != invoke->getUnwindDest() || !is_cut_off(*invoke))
          work.push_back(&successor->front());
    }
    return found;
  }

  // The copy begins at the enter marker and ends at the leave marker. What it uses of the host's code outside
  // of the region stays as it is for now.
  void copy_code() {
    LLVMContext& context = function_->getContext();
    std::vector<BasicBlock*> blocks = host_.in_order(find_blocks());
    std::vector<Instruction*> copies;
    for (BasicBlock* block : blocks)
      map_[block] = BasicBlock::Create(context, block->getName(), function_);
    for (BasicBlock* block : blocks) {
      IRBuilder<> builder(cast<BasicBlock>(map_[block]));
      bool is_first = block == region_.enter.call->getParent();
      for (auto next = is_first ? std::next(region_.enter.call->getIterator()) : block->begin();
           next != block->end(); ++next) {
        if (host_.is_leave(*next, region_.enter.region)) {
          builder.CreateRetVoid();
          break;
        }
        Instruction* copy = next->clone();
        copy->insertInto(builder.GetInsertBlock(), builder.GetInsertBlock()->end());
        copy->setName(next->getName());
        map_[&*next] = copy;
        copies.push_back(copy);
      }
    }
    // A way back to the enter marker leads nowhere: no code of the host is run.
    BasicBlock* first = region_.enter.call->getParent();
    BasicBlock* nowhere = leads_back_ ? BasicBlock::Create(context, "", function_) : nullptr;
    if (nowhere) new UnreachableInst(context, nowhere);
    std::vector<InvokeInst*> cut_off;
    for (Instruction* copy : copies) {
      if (auto* invoke = dyn_cast<InvokeInst>(copy); invoke && is_cut_off(*invoke)) cut_off.push_back(invoke);
      if (nowhere && copy->isTerminator())
        for (unsigned i = 0; i < copy->getNumSuccessors(); ++i)
          if (copy->getSuccessor(i) == first) copy->setSuccessor(i, nowhere);
      if (auto* phi = dyn_cast<PHINode>(copy))
        for (unsigned i = phi->getNumIncomingValues(); i-- > 0;)
          if (!map_.count(phi->getIncomingBlock(i))) phi->removeIncomingValue(i, false);
      RemapInstruction(copy, map_, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
    }
    for (InvokeInst* invoke : cut_off)
      make_call(*invoke);
    BranchInst::Create(cast<BasicBlock>(map_[first]), entry_);
  }

  // The block for exceptions is the host's still.
  static void make_call(InvokeInst& invoke) {
    CallInst* call = createCallMatchingInvoke(&invoke);
    call->takeName(&invoke);
    call->insertBefore(invoke.getIterator());
    invoke.replaceAllUsesWith(call);
    BranchInst::Create(invoke.getNormalDest(), invoke.getIterator());
    invoke.eraseFromParent();
  }

  // What the region throws and does not catch goes on to whoever called the debug function.
  void rethrow_what_escapes() {
    for (const Marker& marker : find_markers(*function_)) {
      if (marker.region != region_.enter.region) continue;
      if (marker.what == "escape") {
        IRBuilder<> builder(marker.call);
        auto rethrow = function_->getParent()->getOrInsertFunction("__cxa_rethrow", builder.getVoidTy());
        builder.CreateCall(rethrow)->setDoesNotReturn();
      }
      marker.call->eraseFromParent();
    }
  }

  void resolve_outside_values() {
    for (const AnnotatedVariable& note : find_variables(*function_))
      note.call->eraseFromParent();
    for (const AnnotatedVariable& note : find_debug_variables(*function_))
      note.call->eraseFromParent();
    std::vector<Use*> outside;
    for (Instruction& instruction : instructions(*function_)) // in the order of the host, in every compile
      for (Use& use : instruction.operands())
        if (is_of_host(*use.get())) outside.push_back(&use);
    for (Use* use : outside)
      use->set(resolve(use->get()));
  }

  bool is_of_host(const Value& value) const {
    if (auto* instruction = dyn_cast<Instruction>(&value)) return instruction->getFunction() != function_;
    auto* parameter = dyn_cast<Argument>(&value);
    return parameter && parameter->getParent() != function_;
  }

  Value* resolve(Value* value) {
    auto [entry, is_new] = resolved_.try_emplace(value, nullptr);
    if (!is_new) {
      if (!entry->second) throw std::runtime_error("a value of the host function depends on itself");
      return entry->second;
    }
    Value* result = make(value);
    resolved_[value] = result;
    return result;
  }

  // What stands for a value of the host.
  Value* make(Value* value) {
    const HostVariables& variables = host_.variables();
    if (auto variable = variables.find(value); variable != variables.end())
      return argument(value, variable->second);
    if (auto* slot = dyn_cast<AllocaInst>(value)) {
      if (host_.is_shared(slot))
        return argument(value, {Variable::Kind::kActivation, "debug|" + value->getName().str(), 0,
                                value->getName().str(), ""});
      // A variable or temporary of the region, or a slot of the exception machinery: the copy has its own.
      // Anything that the program uses too would be left without its value.
      bool machinery = any_of(std::initializer_list<StringRef>{"exn.slot", "ehselector.slot", "cleanup.dest"},
                              [&](StringRef name) { return slot->getName().starts_with(name); });
      if (!machinery && !is_own(*slot))
        throw std::runtime_error(
            fmt::format("it uses '{}', which has no name in the source", describe(value)));
      if (!isa<ConstantInt>(slot->getArraySize()))
        throw std::runtime_error("it uses a variable-length temporary of the program");
      Instruction* copy = slot->clone();
      copy->setName(slot->getName());
      copy->insertBefore(entry_->begin());
      return copy;
    }
    if (auto* load = dyn_cast<LoadInst>(value)) {
      Value* source = load->getPointerOperand();
      auto variable = isa<Instruction>(source) ? variables.find(source) : variables.end();
      bool is_variable = variable != variables.end() || is_captured_this(*load);
      if (variable != variables.end() && variable->second.kind != Variable::Kind::kThis &&
          !is_never_changed(*source))
        throw std::runtime_error(fmt::format("it needs the size of a variable-length array, which depends on "
                                             "what '{}' was before: '{}' may have changed since",
                                             variable->second.name, variable->second.name));
      if (!is_variable)
        throw std::runtime_error(
            fmt::format("it depends on '{}', which the program computed before", describe(value)));
    } else if (!isa<GetElementPtrInst, CastInst, BinaryOperator>(value)) {
      throw std::runtime_error(
          fmt::format("it depends on '{}', which the program computed before", describe(value)));
    }
    Instruction* copy = cast<Instruction>(value)->clone();
    copy->setDebugLoc(DebugLoc());
    for (Use& use : copy->operands())
      if (is_of_host(*use.get())) use.set(resolve(use.get()));
    copy->insertBefore(entry_->getTerminator()->getIterator());
    return copy;
  }

  // Is this stack slot of the host used by the region alone? What debug code declares is its own in any
  // case: the host uses it only to destroy it.
  bool is_own(Value& slot) const {
    return host_.is_declared_by_regions(&slot) || all_of(slot.users(), [&](User* user) {
             auto* call = dyn_cast<IntrinsicInst>(user);
             return is_in_copy(user) || region_.instructions.contains(cast<Instruction>(user)) ||
                    (call && call->isLifetimeStartOrEnd());
           });
  }

  // Until it is resolved, the copy uses what the region uses in the host.
  bool is_in_copy(const User* user) const { return cast<Instruction>(user)->getFunction() == function_; }

  // Is it the load by which a lambda gets the `this` that it captured, at its start? That member of a closure
  // is never written to again, and the front end keeps no other one for later.
  bool is_captured_this(LoadInst& load) const {
    auto* member = dyn_cast<GetElementPtrInst>(load.getPointerOperand());
    auto* closure = dyn_cast<LoadInst>(member ? member->getPointerOperand() : load.getPointerOperand());
    if (!closure || !load.getType()->isPointerTy() || load.getParent() != &host_.function().getEntryBlock() ||
        (member && !member->hasAllConstantIndices()))
      return false;
    auto variable = host_.variables().find(closure->getPointerOperand());
    return variable != host_.variables().end() && variable->second.kind == Variable::Kind::kThis;
  }

  // Does this variable of the host have one value all the time?
  bool is_never_changed(const Value& slot) const {
    unsigned stores = 0;
    return isa<AllocaInst>(slot) && all_of(slot.users(), [&](const User* user) {
             if (is_in_copy(user)) return true;
             auto* store = dyn_cast<StoreInst>(user);
             if (store && store->getPointerOperand() == &slot && store->getValueOperand() != &slot)
               return ++stores == 1;
             auto* call = dyn_cast<IntrinsicInst>(user);
             return isa<LoadInst>(user) || (call && (call->isLifetimeStartOrEnd() ||
                                                     call->getIntrinsicID() == Intrinsic::var_annotation));
           });
  }

  static std::string describe(Value* value) {
    auto* instruction = dyn_cast<Instruction>(value);
    return value->hasName() || !instruction ? value->getName().str() : instruction->getOpcodeName();
  }

  Value* argument(Value* address, const HostVariable& host_variable) {
    const DataLayout& layout = function_->getDataLayout();
    Variable variable;
    variable.kind = host_variable.kind;
    variable.key = host_variable.key;
    variable.ordinal = host_variable.ordinal;
    variable.name = host_variable.name;
    variable.type = host_variable.type;
    if (auto* slot = dyn_cast<AllocaInst>(address)) {
      if (auto size = slot->getAllocationSize(layout)) variable.size = size->getFixedValue();
      variable.align = slot->getAlign().value();
    } else if (auto* parameter = dyn_cast<Argument>(address)) {
      Type* type = parameter->hasByValAttr()       ? parameter->getParamByValType()
                   : parameter->hasStructRetAttr() ? parameter->getParamStructRetType()
                                                   : nullptr;
      if (type) variable.size = layout.getTypeAllocSize(type);
      variable.align = parameter->getParamAlign().valueOrOne().value();
    }
    size_t position = result_.variables.size();
    result_.variables.push_back(variable);
    IRBuilder<> builder(entry_->getTerminator());
    auto* pointer = builder.getPtrTy();
    Value* slot = builder.CreateConstInBoundsGEP1_64(pointer, args_, position);
    Value* result = builder.CreateLoad(pointer, slot, variable.name);
    argument_values_.push_back(result);
    return result;
  }

  // Which arguments are followed to other memory; what else the region may read.
  void note_dereferences() {
    const DataLayout& layout = function_->getDataLayout();
    ConstantUses code;
    note_reads(*function_, code);
    for (size_t i = 0; i < argument_values_.size(); ++i)
      static_cast<Follow&>(result_.variables[i]) = follow_reads(*argument_values_[i], layout, code);
    for (GlobalVariable* global : globals_)
      result_.globals_read[global->getName().str()] = follow_reads(*global, layout, code);
  }

  // Memory that code reads by name, and calls into the program, from where anything may be read. What is
  // handed to a call as a pointer counts as dereferenced already.
  void note_reads(Function& code, ConstantUses& seen) {
    if (seen.has(code)) return;
    seen.add(code);
    for (Instruction& instruction : instructions(code)) {
      auto* call = dyn_cast<CallBase>(&instruction);
      if (call && !isa<IntrinsicInst>(call)) {
        Function* callee = call->getCalledFunction();
        if (!callee || (callee->isDeclaration() && !is_library(callee->getName())))
          result_.reads_memory = true;
        else if (!callee->isDeclaration() && !is_library(callee->getName()))
          note_reads(*callee, seen);
      }
      for (Value* operand : instruction.operands())
        if (auto* global = dyn_cast<GlobalVariable>(operand->stripInBoundsOffsets()))
          if (!global->isConstant() && !is_library(global->getName()) && !is_debug_only(*global))
            globals_.insert(global);
    }
  }

  bool is_debug_only(const GlobalVariable& variable) const {
    return variable.getName().starts_with("__rdb_") || annotated_.contains(&variable);
  }

  const Host& host_;
  const RegionInHost& region_;
  const std::set<const Value*>& annotated_;
  DebugFunction& result_;
  Function* function_ = nullptr;
  Argument* args_ = nullptr;
  BasicBlock* entry_ = nullptr;
  ValueToValueMapTy map_;   // from the host's code to the copy
  bool leads_back_ = false; // to the enter marker
  std::map<Value*, Value*> resolved_;
  std::vector<Value*> argument_values_;
  std::set<GlobalVariable*> globals_; // of the program, that the region names
};

} // namespace

void outline_regions(Module& module, Extraction& extraction) {
  std::map<unsigned, unsigned> variants;
  std::set<const Value*> annotated = annotated_globals(module);
  std::vector<Function*> hosts;
  for (Function& function : module)
    if (!function.isDeclaration()) hosts.push_back(&function);
  for (Function* host : hosts) {
    Host facts(*host);
    for (const RegionInHost& region : facts.regions()) {
      DebugFunction result;
      result.region = region.enter.region;
      unsigned variant = variants[result.region]++;
      result.symbol = fmt::format("__rdb_fn_{}_{}", extraction.unit, result.region);
      if (variant > 0) result.symbol += fmt::format("_{}", variant);
      result.host = host->getName().str();
      result.host_name = demangle(result.host);
      Outliner(facts, region, annotated, result).run();
      extraction.functions.push_back(std::move(result));
    }
  }
}

} // namespace rdb::extractor
