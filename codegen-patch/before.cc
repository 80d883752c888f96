// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Before optimisation: the compile's own debug information goes (it is not written from here) and placement's
// comes in: a subprogram and lines for code that matters, a label per region, a record per variable.
#include "codegen-patch/debug_names.h"
#include "codegen-patch/placement.h"
#include "codegen-patch/records.h"
#include "llvm-passes/extractor/marked_view.h"
#include "llvm-passes/extractor/markers.h"

#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include <set>

namespace rdb::codegen {

namespace {

using namespace llvm;
using extractor::Variable;

// The stack slot in which a host without optimisation keeps a pointer parameter.
AllocaInst* slot_of_parameter(Argument& parameter) {
  for (User* user : parameter.users())
    if (auto* store = dyn_cast<StoreInst>(user); store && store->getValueOperand() == &parameter)
      if (auto* slot = dyn_cast<AllocaInst>(store->getPointerOperand())) return slot;
  return nullptr;
}

class Recorder {
public:
  Recorder(Module& module, bool optimised) : module_(module), builder_(module), optimised_(optimised) {
    StripDebugInfo(module);
    if (!module.getModuleFlag("Debug Info Version"))
      module.addModuleFlag(Module::Warning, "Debug Info Version", DEBUG_METADATA_VERSION);
    if (optimised)
      module.setModuleFlag(
          Module::Max, kAssignmentsFlag,
          ConstantAsMetadata::get(ConstantInt::get(Type::getInt1Ty(module.getContext()), 1)));
    file_ = builder_.createFile("rdb", "/");
    builder_.createCompileUnit(DISourceLanguageName(dwarf::DW_LANG_C11), file_, "rdb", true, "", 0);
    type_ = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  }

  // `code`: what is followed. In the rest only calls have their places, for what is put in place of them.
  void add_functions(WriteTags& tags, const RegionCode& code) {
    for (Function& function : module_) {
      if (function.isDeclaration()) continue;
      DISubprogram* subprogram = builder_.createFunction(
          file_, function.getName(), function.getName(), file_, 1, type_, 1, DINode::FlagZero,
          DISubprogram::SPFlagDefinition |
              (optimised_ ? DISubprogram::SPFlagOptimized : DISubprogram::SPFlagZero));
      function.setSubprogram(subprogram);
      tags.record(function, *subprogram, builder_,
                  !code.has(function) ? WriteTags::Marks::kOnlyPlacesOfCalls
                  : optimised_        ? WriteTags::Marks::kWrites
                                      : WriteTags::Marks::kNone);
    }
  }

  void add_label(CallInst& mark, size_t function) {
    DISubprogram* subprogram = mark.getFunction()->getSubprogram();
    DILabel* label =
        builder_.createLabel(subprogram, label_name(function), file_, mark.getDebugLoc().getLine(), 0, false,
                             std::nullopt, /*AlwaysPreserve=*/true);
    auto* record = new DbgLabelRecord(label, mark.getDebugLoc());
    // Ahead of the mark of a write that is the very next instruction.
    BasicBlock::iterator after = std::next(mark.getIterator());
    after.setHeadBit(true);
    mark.getParent()->insertDbgRecordBefore(record, after);
  }

  // One record per variable and function, shared by the regions that use it.
  DILocalVariable* add_variable(Function& host, Value& address, const Variable& variable) {
    if (!declared_.insert(&address).second) return nullptr;
    DISubprogram* subprogram = host.getSubprogram();
    DIType* type =
        builder_.createBasicType("bytes", std::max<uint64_t>(variable.size, 1) * 8, dwarf::DW_ATE_unsigned);
    // The line of the variable is the ordinal of its stack slot, by which writes to it are known; an
    // artificial one is one to which pointers exist.
    auto* home = dyn_cast<Instruction>(&address);
    unsigned slot_ordinal = home ? home->getDebugLoc().getLine() : 0;
    DILocalVariable* local = builder_.createAutoVariable(
        subprogram, variable_record_name(variable), file_, slot_ordinal, type, /*AlwaysPreserve=*/true,
        slot_escapes(address) ? DINode::FlagArtificial : DINode::FlagZero);
    DILocation* at = DILocation::get(module_.getContext(), 1, 0, subprogram);
    BasicBlock& entry = host.getEntryBlock();
    DIExpression* plain = builder_.createExpression();
    DIExpression* behind = builder_.createExpression({dwarf::DW_OP_deref});
    auto* parameter = dyn_cast<Argument>(&address);
    if (parameter && !parameter->hasByValAttr()) {
      AllocaInst* slot = slot_of_parameter(*parameter);
      if (slot && !optimised_)
        insert_in_entry(entry, DbgVariableRecord::createDVRDeclare(slot, local, behind, at));
      else
        insert_in_entry(entry, DbgVariableRecord::createDbgVariableRecord(parameter, local, behind, at));
      return local;
    }
    auto* slot = dyn_cast<AllocaInst>(&address);
    if (slot && !slot->isStaticAlloca()) {
      // A variable-length array: its address is a value like any other.
      auto* record = DbgVariableRecord::createDbgVariableRecord(slot, local, behind, at);
      slot->getParent()->insertDbgRecordAfter(record, slot);
      return local;
    }
    insert_in_entry(entry, DbgVariableRecord::createDVRDeclare(&address, local, plain, at));
    return local;
  }

  void finish() { builder_.finalize(); }

private:
  void insert_in_entry(BasicBlock& entry, DbgVariableRecord* record) {
    auto [place, is_new] = behind_slots_.try_emplace(&entry);
    if (is_new) place->second = entry.getFirstNonPHIOrDbgOrAlloca();
    entry.insertDbgRecordBefore(record, place->second);
  }

  Module& module_;
  DIBuilder builder_;
  bool optimised_;
  DIFile* file_ = nullptr;
  DISubroutineType* type_ = nullptr;
  std::set<Value*> declared_;
  std::map<const BasicBlock*, BasicBlock::iterator> behind_slots_; // in entry blocks
};

} // namespace

std::string variable_record_name(const Variable& variable) {
  return fmt::format("rdb.var.{}.{}", variable.key, variable.ordinal);
}

// Ordinals of the instructions that use the variable's value and whose result is not itself stored to it.
static std::set<unsigned> derived_from(Value& address) {
  std::set<unsigned> result;
  std::set<unsigned> stored;
  for (User* user : address.users()) {
    if (auto* load = dyn_cast<LoadInst>(user))
      for (User* next : load->users())
        if (auto* instruction = dyn_cast<Instruction>(next))
          result.insert(instruction->getDebugLoc().getLine());
    if (auto* store = dyn_cast<StoreInst>(user))
      if (auto* value = dyn_cast<Instruction>(store->getValueOperand()))
        stored.insert(value->getDebugLoc().getLine());
  }
  for (unsigned ordinal : stored)
    result.erase(ordinal);
  return result;
}

void Placement::before_optimisation(Module& module) {
  std::map<const Function*, std::set<size_t>> regions;
  std::vector<extractor::RegionMark> marks = extractor::find_region_marks(extraction_, module);
  for (const auto& [mark, index] : marks) {
    seen_[index] = true;
    regions[mark->getFunction()].insert(index);
  }
  std::set<const Function*> followed;
  if (optimised_) followed = calls_.find(module, regions, expected_);
  for (const auto& [function, own] : regions)
    followed.insert(function);
  Recorder recorder(module, optimised_);
  tags_.record_globals(module);
  code_.emplace(module, followed, expected_);
  recorder.add_functions(tags_, *code_);
  std::map<Function*, extractor::VariableAddresses> addresses;
  for (const auto& [mark, index] : marks) {
    recorder.add_label(*mark, index);
    if (records_ == Records::kNone) continue;
    Function& host = *mark->getFunction();
    auto [known, is_new] = addresses.try_emplace(&host);
    if (is_new) known->second = extractor::variable_addresses(host);
    for (const Variable& variable : extraction_.functions[index].variables) {
      auto found = known->second.find({variable.key, variable.ordinal});
      if (found == known->second.end()) continue;
      if (recorder.add_variable(host, *found->second, variable))
        derived_[{host.getSubprogram(), variable_record_name(variable)}] = derived_from(*found->second);
    }
  }
  calls_.put_marks();
  extractor::erase_annotations(module);
  recorder.finish();
}

} // namespace rdb::codegen
