// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of the steps matters: equal bodies are looked for when no marker is left and no call is there
// yet, and linkage is told before all symbols become visible.
#include "llvm-passes/extractor/twin_module.h"

#include "llvm-passes/extractor/marked_view.h"
#include "llvm-passes/extractor/markers.h"
#include "rdbtool/base/error.h"

#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <algorithm>
#include <optional>

namespace rdb::extractor {

using namespace llvm;

namespace {

// A region between the removal of its marker and its call.
struct Site {
  const DebugFunction* function;
  Instruction* before; // the call comes there
  // Of the variables in their order; null for one that only debug code knows.
  std::vector<Value*> addresses;
};

class TwinMaker {
public:
  TwinMaker(Module& module, const Extraction& extraction) : module_(module), extraction_(extraction) {}

  std::string facts(const TwinUnit& unit, const std::function<unsigned(unsigned region)>& line_of_region,
                    const SourceNames& names, const CompiledFunctions& compiled) {
    find_sites();
    erase_list("llvm.global.annotations");
    erase_annotations(module_);
    std::vector<TwinRegion> regions;
    regions.reserve(sites_.size());
    for (const Site& site : sites_)
      regions.push_back({site.function->symbol, site.before->getFunction()->getName().str(),
                         line_of_region(site.function->region), reads_of(*site.function),
                         shared_variables(*site.function)});
    return twin_facts(module_, unit, regions, names, compiled);
  }

  size_t run() {
    for (const char* name : {"llvm.global_ctors", "llvm.global_dtors", "llvm.used", "llvm.compiler.used"})
      erase_list(name);
    module_.setModuleInlineAsm("");
    drop_metadata();
    for (Function& function : module_)
      if (!function.isDeclaration()) drop_instrumentation(function);
    show_symbols();
    add_calls();
    return sites_.size();
  }

private:
  // Nobody outside of the unit can read a static by its name, which compilers know.
  const char* reads_of(const DebugFunction& debug) const {
    for (const auto& [name, follow] : debug.globals_read)
      if (const GlobalValue* global = module_.getNamedValue(name); global && global->hasLocalLinkage())
        return "statics";
    bool memory = debug.reads_memory || !debug.globals_read.empty() ||
                  any_of(debug.variables, [](const Variable& v) { return v.dereferenced || v.deeply; });
    return memory ? "memory" : "variables";
  }

  static std::vector<SharedVariable> shared_variables(const DebugFunction& debug) {
    std::vector<SharedVariable> result;
    for (size_t i = 0; i < debug.variables.size(); ++i)
      if (const Variable& variable = debug.variables[i]; variable.kind == Variable::Kind::kActivation)
        result.push_back({i, variable.key, variable.size, variable.align});
    return result;
  }

  void find_sites() {
    std::map<Function*, VariableAddresses> known;
    std::map<Function*, DominatorTree> trees;
    for (const auto& [mark, index] : find_region_marks(extraction_, module_)) {
      Function& host = *mark->getFunction();
      if (host.hasFnAttribute(Attribute::Naked)) continue;
      auto [addresses, is_new] = known.try_emplace(&host);
      if (is_new) addresses->second = variable_addresses(host);
      Site site{&extraction_.functions[index], mark, {}};
      for (const Variable& variable : site.function->variables) {
        auto found = addresses->second.find({variable.key, variable.ordinal});
        bool is_shared = variable.kind == Variable::Kind::kActivation;
        if (!is_shared && found == addresses->second.end()) break;
        site.addresses.push_back(is_shared ? nullptr : found->second);
      }
      if (site.addresses.size() != site.function->variables.size()) continue;
      // Only variables of variable length do not stand at the function's start.
      bool is_reached = all_of(site.addresses, [&](Value* address) {
        auto* instruction = dyn_cast_or_null<Instruction>(address);
        auto* slot = dyn_cast_or_null<AllocaInst>(address);
        if (!instruction || (slot && slot->isStaticAlloca())) return true;
        auto [tree, is_fresh] = trees.try_emplace(&host);
        if (is_fresh) tree->second.recalculate(host);
        return tree->second.dominates(instruction, mark);
      });
      if (!is_reached) continue;
      while (is_annotation(*site.before))
        site.before = site.before->getNextNode();
      sites_.push_back(std::move(site));
    }
  }

  static bool is_annotation(const Instruction& instruction) {
    const auto* call = dyn_cast<IntrinsicInst>(&instruction);
    return call && (call->getIntrinsicID() == Intrinsic::annotation ||
                    call->getIntrinsicID() == Intrinsic::var_annotation);
  }

  void erase_list(StringRef name) {
    if (GlobalVariable* list = module_.getNamedGlobal(name)) list->eraseFromParent();
  }

  // Everything that is said to linkers, and that the code is to lie anywhere.
  void drop_metadata() {
    SmallVector<Module::ModuleFlagEntry> flags;
    module_.getModuleFlagsMetadata(flags);
    for (NamedMDNode& node : make_early_inc_range(module_.named_metadata()))
      node.eraseFromParent();
    for (const Module::ModuleFlagEntry& flag : flags) {
      StringRef key = flag.Key->getString();
      if (key != "Code Model" && key != "Large Data Threshold" && key != "RtLibUseGOT" &&
          key != "direct-access-external-data" && key != "PIC Level" && key != "PIE Level")
        module_.addModuleFlag(flag.Behavior, key, flag.Val);
    }
    module_.setPICLevel(PICLevel::BigPIC);
    module_.setPIELevel(PIELevel::Large);
  }

  // What is added to a program to watch it. Its own checks of undefined behaviour stay: they are what it
  // does.
  static void drop_instrumentation(Function& function) {
    for (Attribute::AttrKind kind : {Attribute::StackProtect, Attribute::StackProtectReq,
                                     Attribute::StackProtectStrong, Attribute::SafeStack})
      function.removeFnAttr(kind);
    for (const char* name :
         {"probe-stack", "split-stack", "patchable-function", "patchable-function-entry",
          "patchable-function-prefix", "function-instrument", "xray-instruction-threshold", "fentry-call"})
      function.removeFnAttr(name);
    for (const char* name : {"instrument-function-entry", "instrument-function-entry-inlined"})
      if (function.getFnAttribute(name).getValueAsString().contains("mcount")) function.removeFnAttr(name);
    // A frame of the twin must be there for every call, and the unwinder must find its way through all of
    // them.
    function.addFnAttr("disable-tail-calls", "true");
    function.setUWTableKind(UWTableKind::Default);
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
      if (isa<InstrProfInstBase>(instruction))
        instruction.eraseFromParent();
      else if (auto* call = dyn_cast<CallBase>(&instruction))
        if (call->getAttributes().hasFnAttr(Attribute::NonLazyBind))
          call->removeFnAttr(Attribute::NonLazyBind);
    }
  }

  // Every definition becomes a symbol of its own that nothing outside of the object can stand in for;
  // whatever is elsewhere may be anywhere.
  void show_symbols() {
    std::vector<GlobalVariable*> unused;
    for (GlobalVariable& variable : module_.globals()) {
      if (variable.hasAvailableExternallyLinkage()) variable.setInitializer(nullptr);
      if (variable.hasPrivateLinkage() && variable.use_empty()) unused.push_back(&variable);
      variable.clearCodeModel();
      show(variable);
    }
    for (GlobalVariable* variable : unused)
      variable->eraseFromParent();
    for (Function& function : module_) {
      if (function.isIntrinsic()) continue;
      function.removeFnAttr(Attribute::NonLazyBind);
      show(function);
    }
    for (GlobalAlias& alias : module_.aliases())
      show_definition(alias);
    for (GlobalIFunc& indirect : module_.ifuncs())
      show_definition(indirect);
    module_.getComdatSymbolTable().clear();
  }

  static void show(GlobalObject& global) {
    global.setComdat(nullptr);
    global.setSection("");
    if (!global.isDeclaration()) return show_definition(global);
    if (!global.hasExternalWeakLinkage()) global.setLinkage(GlobalValue::ExternalLinkage);
    global.setVisibility(GlobalValue::DefaultVisibility);
    global.setDSOLocal(false);
  }

  static void show_definition(GlobalValue& global) {
    bool is_weak = global.isWeakForLinker() || global.hasAvailableExternallyLinkage();
    bool is_common = global.hasCommonLinkage();
    global.setPartition("");
    global.setLinkage(is_weak && !is_common ? GlobalValue::WeakAnyLinkage : GlobalValue::ExternalLinkage);
    global.setVisibility(GlobalValue::HiddenVisibility);
    if (!global.hasName()) global.setName("__rdb_unnamed");
  }

  // The arguments of all regions of a host go through one array in its frame; the element before the first is
  // the address of the frame, by which rdb knows debug variables that the regions of one call share.
  void add_calls() {
    std::map<Function*, std::vector<const Site*>> hosts;
    for (const Site& site : sites_)
      hosts[site.before->getFunction()].push_back(&site);
    for (const auto& [host, sites] : hosts) {
      size_t most = 0;
      bool is_shared = false;
      for (const Site* site : sites) {
        most = std::max(most, site->addresses.size());
        is_shared |= llvm::is_contained(site->addresses, nullptr);
      }
      IRBuilder<> builder(&host->getEntryBlock(), host->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      // A call may stand at the very start, and what is inserted there must come before it.
      auto* type = ArrayType::get(builder.getPtrTy(), most + 1);
      AllocaInst* frame = builder.CreateAlloca(type, nullptr, "rdb.frame");
      if (is_shared) call(builder, kTwinCall, frame);
      for (const Site* site : sites)
        add_call(*site, *frame, is_shared);
      if (verifyFunction(*host)) bug("the twin of '{}' is no valid code", host->getName().str());
    }
  }

  void add_call(const Site& site, AllocaInst& frame, bool is_shared) {
    IRBuilder<> builder(site.before);
    auto* pointer = builder.getPtrTy();
    auto element = [&](size_t i) { return builder.CreateConstInBoundsGEP1_64(pointer, &frame, i); };
    Value* null = ConstantPointerNull::get(pointer);
    builder.CreateStore(is_shared ? static_cast<Value*>(&frame) : null, &frame);
    for (size_t i = 0; i < site.addresses.size(); ++i)
      builder.CreateStore(site.addresses[i] ? site.addresses[i] : null, element(i + 1));
    call(builder, site.function->symbol, element(1));
  }

  // What a region throws stays in it.
  void call(IRBuilder<>& builder, StringRef name, Value* argument) {
    auto* type = FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false);
    FunctionCallee callee = module_.getOrInsertFunction(name, type);
    builder.CreateCall(callee, {argument})->setDoesNotThrow();
  }

  Module& module_;
  const Extraction& extraction_;
  std::vector<Site> sites_;
};

} // namespace

size_t make_twin(Module& module, const Extraction& extraction, const TwinUnit& unit,
                 const std::function<unsigned(unsigned region)>& line_of_region, const SourceNames& names,
                 const CompiledFunctions& compiled) {
  TwinMaker maker(module, extraction);
  std::string facts = maker.facts(unit, line_of_region, names, compiled);
  size_t regions = maker.run();
  embedBufferInModule(module, MemoryBufferRef(facts, kTwinSection), kTwinSection);
  return regions;
}

} // namespace rdb::extractor
