// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A region is the code between its enter and its leave marker; the views see to it that nothing else leads in
// or out (a region's exceptions end in its own catch-all). So a copy of the host function that begins at the
// enter marker and returns at the leave marker is the debug function, once every value from before the region
// is replaced: variables by arguments, temporaries by fresh ones, `this` by a load of the variable behind it.
#include "llvm-passes/extractor/outline.h"

#include "llvm-passes/extractor/declarations.h"
#include "llvm-passes/extractor/library_names.h"
#include "llvm-passes/extractor/markers.h"
#include "llvm-passes/extractor/reads.h"

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"

#include <fmt/format.h>
#include <map>
#include <optional>

namespace rdb::extractor {

namespace {

using namespace llvm;

// A variable of the host function by the value that is its address.
struct HostVariable {
  Variable::Kind kind;
  std::string key;
  unsigned ordinal;
  std::string name;
  std::string type;
};

using HostVariables = std::map<Value*, HostVariable>;

// The instructions of a region in its host: from the enter marker to the leave marker.
std::set<Instruction*> region_instructions(const Marker& enter, unsigned region) {
  std::set<Instruction*> result;
  std::vector<Instruction*> work{enter.call->getNextNode()};
  while (!work.empty()) {
    Instruction* next = work.back();
    work.pop_back();
    for (; next && result.insert(next).second; next = next->getNextNode()) {
      if (auto* call = dyn_cast<CallInst>(next); call && call->getIntrinsicID() == Intrinsic::annotation) {
        bool left = false;
        for (const Marker& marker : find_markers(*call->getFunction()))
          if (marker.call == call && marker.what == "leave" && marker.region == region) left = true;
        if (left) break;
      }
      if (next->isTerminator())
        for (BasicBlock* successor : successors(next))
          work.push_back(&successor->front());
    }
  }
  return result;
}

HostVariables host_variables(Function& host, const std::vector<Marker>& markers) {
  HostVariables result;
  std::map<std::string, unsigned> seen;
  for (const AnnotatedVariable& variable : find_variables(host)) {
    VariableNote note = parse_variable_note(variable.note);
    unsigned ordinal = seen[note.key]++;
    result.try_emplace(variable.address,
                       HostVariable{Variable::Kind::kLocal, note.key, ordinal, note.name, note.type});
  }
  for (Instruction& instruction : host.getEntryBlock())
    if (isa<AllocaInst>(instruction) && instruction.getName() == "this.addr")
      result.try_emplace(&instruction, HostVariable{Variable::Kind::kThis, "this", 0, "this", ""});
  std::set<Instruction*> inside; // regions
  for (const Marker& marker : markers)
    if (marker.what == "enter") inside.merge(region_instructions(marker, marker.region));
  for (AllocaInst* slot : find_unreached_variables(host)) {
    if (all_of(slot->users(), [&](User* user) { return inside.contains(cast<Instruction>(user)); }))
      continue; // the debug code's
    std::string name = slot->getName().str();
    result.try_emplace(slot, HostVariable{Variable::Kind::kLocal, "|" + name, seen["|" + name]++, name, ""});
  }
  return result;
}

class Outliner {
public:
  Outliner(Function& host, const Marker& enter, const HostVariables& variables,
           const std::set<Value*>& shared, DebugFunction& result)
      : host_(host), enter_(enter), variables_(variables), shared_(shared), result_(result) {}

  void run() {
    clone();
    cut();
    cut_cleanups();
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
  void clone() {
    Module& module = *host_.getParent();
    LLVMContext& context = module.getContext();
    auto* type = FunctionType::get(Type::getVoidTy(context), {PointerType::get(context, 0)}, false);
    function_ = Function::Create(type, GlobalValue::ExternalLinkage, result_.symbol, module);
    args_ = function_->getArg(0);
    args_->setName("args");
    entry_ = BasicBlock::Create(context, "", function_);
    // The host's parameters: a value to stand for each until it is known whether the region uses it.
    for (Argument& parameter : host_.args()) {
      auto* stand_in = new LoadInst(parameter.getType(), PoisonValue::get(PointerType::get(context, 0)),
                                    parameter.getName(), entry_);
      map_[&parameter] = stand_in;
      stand_ins_[stand_in] = &parameter;
    }
    SmallVector<ReturnInst*, 4> returns;
    CloneFunctionInto(function_, &host_, map_, CloneFunctionChangeType::LocalChangesOnly, returns);
    function_->setAttributes(AttributeList::get(context, AttributeList::FunctionIndex,
                                                AttrBuilder(context, host_.getAttributes().getFnAttrs())));
    function_->setLinkage(GlobalValue::ExternalLinkage);
    function_->setVisibility(GlobalValue::DefaultVisibility);
    function_->setComdat(nullptr);
    function_->setCallingConv(CallingConv::C);
    function_->setSection("");
    function_->removeFnAttr(Attribute::AlwaysInline);
    for (auto [old_value, new_value] : map_)
      if (new_value && isa<Instruction>(new_value)) origin_[new_value] = const_cast<Value*>(old_value);
  }

  // Makes the copy begin at the enter marker and end at the leave marker.
  void cut() {
    auto* enter = cast<CallInst>(map_[enter_.call]);
    BasicBlock* begin = enter->getParent()->splitBasicBlock(enter->getIterator());
    enter->getParent()->getSinglePredecessor()->getTerminator()->eraseFromParent();
    IRBuilder<> builder(entry_);
    builder.CreateBr(begin);
    std::vector<Marker> markers = find_markers(*function_);
    for (const Marker& marker : markers) {
      if (marker.region != enter_.region) continue;
      if (marker.what == "leave") {
        BasicBlock* block = marker.call->getParent();
        if (!block->getTerminator()) continue; // an enter marker of the same block was cut off already
        for (BasicBlock* successor : successors(block))
          successor->removePredecessor(block);
        while (&block->back() != marker.call) {
          if (!block->back().use_empty())
            block->back().replaceAllUsesWith(PoisonValue::get(block->back().getType()));
          block->back().eraseFromParent();
        }
        builder.SetInsertPoint(block);
        builder.CreateRetVoid();
        marker.call->eraseFromParent();
      } else if (marker.what == "escape") {
        // What the region throws and does not catch goes on to whoever called the debug function.
        builder.SetInsertPoint(marker.call);
        auto rethrow = host_.getParent()->getOrInsertFunction("__cxa_rethrow", builder.getVoidTy());
        builder.CreateCall(rethrow)->setDoesNotReturn();
        marker.call->eraseFromParent();
      } else {
        marker.call->eraseFromParent();
      }
    }
  }

  // A region without its own catch-all (its variables are shared) must not run into the host's cleanups.
  void cut_cleanups() {
    bool guarded = false;
    for (const Marker& marker : find_markers(host_))
      guarded |= marker.what == "escape" && marker.region == enter_.region;
    if (guarded) return;
    std::vector<InvokeInst*> invokes;
    for (Instruction& instruction : instructions(*function_))
      if (auto* invoke = dyn_cast<InvokeInst>(&instruction))
        if (auto* pad = invoke->getLandingPadInst(); pad->isCleanup() && pad->getNumClauses() == 0)
          invokes.push_back(invoke);
    for (InvokeInst* invoke : invokes)
      changeToCall(invoke);
  }

  void resolve_outside_values() {
    std::set<BasicBlock*> inside;
    std::vector<BasicBlock*> work{entry_};
    while (!work.empty()) {
      BasicBlock* block = work.back();
      work.pop_back();
      if (!inside.insert(block).second) continue;
      if (block->getTerminator())
        for (BasicBlock* successor : successors(block))
          work.push_back(successor);
    }
    for (const AnnotatedVariable& note : find_variables(*function_))
      note.call->eraseFromParent();
    for (const AnnotatedVariable& note : find_debug_variables(*function_))
      note.call->eraseFromParent();
    std::vector<Use*> outside;
    for (BasicBlock& block : *function_) { // in their order: so are the arguments then, in every compile
      if (!inside.contains(&block)) continue;
      for (Instruction& instruction : block) {
        instruction.dropDbgRecords();
        for (Use& use : instruction.operands()) {
          auto* value = dyn_cast<Instruction>(use.get());
          if (value && (!inside.contains(value->getParent()) || stand_ins_.contains(value)))
            outside.push_back(&use);
        }
      }
    }
    for (Use* use : outside)
      use->set(resolve(cast<Instruction>(use->get())));
    for (auto& [stand_in, parameter] : stand_ins_) {
      if (!stand_in->use_empty()) stand_in->replaceAllUsesWith(PoisonValue::get(stand_in->getType()));
      stand_in->eraseFromParent();
    }
  }

  Value* resolve(Instruction* value) {
    auto [entry, is_new] = resolved_.try_emplace(value, nullptr);
    if (!is_new) {
      if (!entry->second) throw std::runtime_error("a value of the host function depends on itself");
      return entry->second;
    }
    Value* result = make(value);
    resolved_[value] = result;
    return result;
  }

  Value* make(Instruction* value) {
    Value* original = stand_ins_.contains(value) ? stand_ins_[value] : origin_[value];
    if (auto variable = variables_.find(original); variable != variables_.end())
      return argument(original, variable->second);
    IRBuilder<> builder(entry_->getTerminator());
    if (auto* slot = dyn_cast<AllocaInst>(value)) {
      if (shared_.contains(original))
        return argument(original, {Variable::Kind::kActivation, "debug|" + value->getName().str(), 0,
                                   value->getName().str(), ""});
      // A variable or temporary of the region, or a slot of the exception machinery: the copy has its own.
      // Anything that the program uses too would be left without its value.
      bool machinery = any_of(std::initializer_list<StringRef>{"exn.slot", "ehselector.slot", "cleanup.dest"},
                              [&](StringRef name) { return slot->getName().starts_with(name); });
      if (!machinery && !is_own(*original))
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
      auto* from = dyn_cast<Instruction>(load->getPointerOperand());
      Value* source = from ? origin_[from] : nullptr;
      auto variable = source ? variables_.find(source) : variables_.end();
      bool is_variable = variable != variables_.end();
      if (is_variable && variable->second.kind != Variable::Kind::kThis && !is_never_changed(*source))
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
    Instruction* copy = value->clone();
    copy->setDebugLoc(DebugLoc());
    for (Use& use : copy->operands())
      if (auto* operand = dyn_cast<Instruction>(use.get())) use.set(resolve(operand));
    copy->insertBefore(entry_->getTerminator()->getIterator());
    return copy;
  }

  // Is this stack slot of the host used by the region alone? What debug code declares is its own in any
  // case: the host uses it only to destroy it.
  bool is_own(Value& slot) {
    if (any_of(find_debug_variables(host_), [&](const auto& variable) { return variable.address == &slot; }))
      return true;
    if (inside_.empty()) inside_ = region_instructions(enter_, enter_.region);
    return all_of(slot.users(), [&](User* user) {
      auto* call = dyn_cast<IntrinsicInst>(user);
      return inside_.contains(cast<Instruction>(user)) || (call && call->isLifetimeStartOrEnd());
    });
  }

  // Does this variable of the host have one value all the time?
  static bool is_never_changed(const Value& slot) {
    unsigned stores = 0;
    return isa<AllocaInst>(slot) && all_of(slot.users(), [&](const User* user) {
             auto* store = dyn_cast<StoreInst>(user);
             if (store && store->getPointerOperand() == &slot && store->getValueOperand() != &slot)
               return ++stores == 1;
             auto* call = dyn_cast<IntrinsicInst>(user);
             return isa<LoadInst>(user) || (call && (call->isLifetimeStartOrEnd() ||
                                                     call->getIntrinsicID() == Intrinsic::var_annotation));
           });
  }

  static std::string describe(Instruction* value) {
    return value->hasName() ? value->getName().str() : value->getOpcodeName();
  }

  Value* argument(Value* address, const HostVariable& host_variable) {
    const DataLayout& layout = host_.getDataLayout();
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
    std::set<Function*> code;
    note_reads(*function_, code);
    for (size_t i = 0; i < argument_values_.size(); ++i)
      static_cast<Follow&>(result_.variables[i]) = follow_reads(*argument_values_[i], code);
    for (GlobalVariable* global : globals_)
      result_.globals_read[global->getName().str()] = follow_reads(*global, code);
  }

  // Memory that code reads by name, and calls into the program, from where anything may be read. What is
  // handed to a call as a pointer counts as dereferenced already.
  void note_reads(Function& code, std::set<Function*>& seen) {
    if (!seen.insert(&code).second) return;
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

  bool is_debug_only(GlobalVariable& variable) {
    if (variable.getName().starts_with("__rdb_")) return true;
    GlobalVariable* list = host_.getParent()->getNamedGlobal("llvm.global.annotations");
    if (!list) return false;
    for (const Use& element : cast<Constant>(list->getInitializer())->operands())
      if (auto* entry = dyn_cast<ConstantStruct>(element.get()); entry && entry->getOperand(0) == &variable)
        return true;
    return false;
  }

  Function& host_;
  const Marker& enter_;
  const HostVariables& variables_;
  const std::set<Value*>& shared_;
  DebugFunction& result_;
  Function* function_ = nullptr;
  Argument* args_ = nullptr;
  BasicBlock* entry_ = nullptr;
  ValueToValueMapTy map_;
  std::map<Value*, Value*> origin_; // of a copied instruction
  std::map<Instruction*, Argument*> stand_ins_;
  std::map<Instruction*, Value*> resolved_;
  std::vector<Value*> argument_values_;
  std::set<GlobalVariable*> globals_; // of the program, that the region names
  std::set<Instruction*> inside_;     // of the host: the region's own instructions
};

// Allocas of the host that hold debug variables used by more than one region. The host's code that destroys
// them at the end of their scope is not in any region, and never runs.
std::set<Value*> shared_variables(Function& host, const std::vector<Marker>& markers,
                                  const HostVariables& variables) {
  std::map<AllocaInst*, std::set<unsigned>> users;
  std::map<AllocaInst*, bool> used_outside;
  std::set<Instruction*> all_inside;
  for (const Marker& marker : markers) {
    if (marker.what != "enter") continue;
    for (Instruction* instruction : region_instructions(marker, marker.region)) {
      all_inside.insert(instruction);
      for (Value* operand : instruction->operands())
        if (auto* slot = dyn_cast<AllocaInst>(operand); slot && !variables.contains(slot))
          users[slot].insert(marker.region);
    }
  }
  std::set<Value*> declared; // by debug code
  for (const AnnotatedVariable& variable : find_debug_variables(host))
    declared.insert(variable.address);
  std::set<Value*> result;
  for (auto& [slot, regions] : users) {
    bool only_regions = declared.contains(slot) || all_of(slot->users(), [&](User* user) {
                          return all_inside.contains(cast<Instruction>(user));
                        });
    if (regions.size() > 1 && only_regions && !slot->getName().starts_with("exn.slot") &&
        !slot->getName().starts_with("ehselector.slot") && !slot->getName().starts_with("cleanup.dest"))
      result.insert(slot);
  }
  return result;
}

} // namespace

void outline_regions(Module& module, Extraction& extraction) {
  std::map<unsigned, unsigned> variants;
  std::vector<Function*> hosts;
  for (Function& function : module)
    if (!function.isDeclaration()) hosts.push_back(&function);
  for (Function* host : hosts) {
    std::vector<Marker> markers = find_markers(*host);
    if (markers.empty()) continue;
    HostVariables variables = host_variables(*host, markers);
    std::set<Value*> shared = shared_variables(*host, markers, variables);
    for (const Marker& marker : markers) {
      if (marker.what != "enter") continue;
      DebugFunction result;
      result.region = marker.region;
      unsigned variant = variants[marker.region]++;
      result.symbol = fmt::format("__rdb_fn_{}_{}", extraction.unit, marker.region);
      if (variant > 0) result.symbol += fmt::format("_{}", variant);
      result.host = host->getName().str();
      result.host_name = demangle(result.host);
      Outliner(*host, marker, variables, shared, result).run();
      extraction.functions.push_back(std::move(result));
    }
  }
}

} // namespace rdb::extractor
