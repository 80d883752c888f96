// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The line of a mark's label is that of the call (see WriteTags), by which it is found again.
#include "codegen-patch/call_marks.h"

#include "codegen-patch/debug_names.h"
#include "codegen-patch/ways.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include <tuple>

namespace rdb::codegen {

using namespace llvm;

namespace {

// What is called here, or given to the C++ library to be called in the end.
const Function* callee_of(const Instruction& instruction) {
  auto* call = dyn_cast<CallBase>(&instruction);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  if (callee && (callee->getName() == "__cxa_atexit" || callee->getName() == "__cxa_thread_atexit"))
    return dyn_cast<Function>(call->getArgOperand(0)->stripPointerCasts());
  return callee;
}

// The functions that are called ahead of main.
std::set<const Function*> constructors_of(const Module& module) {
  std::set<const Function*> found;
  const GlobalVariable* list = module.getNamedGlobal("llvm.global_ctors");
  if (!list || !list->hasInitializer()) return found;
  for (const Use& entry : list->getInitializer()->operands())
    if (const auto* function =
            dyn_cast<Function>(cast<Constant>(entry)->getAggregateElement(1)->stripPointerCasts()))
      found.insert(function);
  return found;
}

using Place = std::tuple<const DISubprogram*, unsigned, const DILocation*>;

Place place_of(const DILocation& at) {
  return {at.getScope()->getSubprogram(), at.getLine(), at.getInlinedAt()};
}

// The calls in whose place there is code of what was called.
std::set<Place> inlined_calls(const Function& function) {
  std::set<Place> found;
  std::set<const DILocation*> seen;
  auto note = [&](const DebugLoc& place) {
    const DILocation* at = place;
    for (const DILocation* call = at ? at->getInlinedAt() : nullptr; call && seen.insert(call).second;
         call = call->getInlinedAt())
      found.insert(place_of(*call));
  };
  for (const Instruction& instruction : instructions(function)) {
    note(instruction.getDebugLoc());
    for (const DbgRecord& record : instruction.getDbgRecordRange())
      note(record.getDebugLoc());
  }
  return found;
}

} // namespace

bool CallMarks::is_mark(StringRef name) {
  return name.starts_with(kCallName);
}

std::set<const Function*> CallMarks::find(Module& module,
                                          const std::map<const Function*, std::set<size_t>>& regions,
                                          const Inlining* inlining) {
  std::map<const Function*, std::set<const Function*>> callers;
  for (const Function& function : module)
    for (const Instruction& instruction : instructions(function))
      if (const Function* callee = callee_of(instruction)) callers[callee].insert(&function);
  std::map<const Function*, std::set<size_t>> behind = regions; // also by further calls
  std::vector<const Function*> work;
  work.reserve(regions.size());
  for (const auto& [function, own] : regions)
    work.push_back(function);
  while (!work.empty()) {
    const Function* callee = work.back();
    work.pop_back();
    for (const Function* caller : callers[callee]) {
      std::set<size_t> further = behind[callee];
      std::set<size_t>& own = behind[caller];
      size_t before = own.size();
      own.merge(further);
      if (own.size() != before) work.push_back(caller);
    }
  }
  for (const Function* function : constructors_of(module))
    if (auto found = behind.find(function); found != behind.end())
      constructors_.push_back({function->getName().str(), found->second});
  std::set<const Function*> functions;
  for (Function& function : module)
    for (Instruction& instruction : instructions(function)) {
      auto found = behind.find(callee_of(instruction));
      if (found == behind.end() || found->second.empty()) continue;
      if (inlining && !inlining->may_lack_calls_of(found->first->getName())) continue;
      calls_.push_back({found->first->getName().str(), found->second});
      unmarked_.push_back(&instruction);
      functions.insert({&function, found->first});
    }
  return functions;
}

void CallMarks::put_marks() {
  for (size_t number = 0; number < unmarked_.size(); ++number) {
    Instruction& call = *unmarked_[number];
    DISubprogram* scope = call.getFunction()->getSubprogram();
    auto* label = DILabel::get(call.getContext(), scope, kCallName + std::to_string(number), scope->getFile(),
                               call.getDebugLoc().getLine(), 0, false, std::nullopt);
    call.getParent()->insertDbgRecordBefore(new DbgLabelRecord(label, call.getDebugLoc()),
                                            call.getIterator());
  }
  unmarked_.clear();
}

std::set<size_t> CallMarks::left_out_at_start(const Module& module) const {
  std::set<size_t> result;
  std::set<const Function*> constructors = constructors_of(module);
  for (const Call& call : constructors_)
    if (!constructors.contains(module.getFunction(call.callee)))
      result.insert(call.regions.begin(), call.regions.end());
  return result;
}

std::set<size_t> CallMarks::left_out(const Function& function, const Inlining& inlining) const {
  std::set<size_t> result;
  std::set<Place> inlined;
  bool is_known = false;
  for (const BasicBlock* block : reachable_blocks(function)) {
    std::map<Place, const Call*> marked; // no call yet
    for (const Instruction& instruction : *block) {
      for (const DbgRecord& record : instruction.getDbgRecordRange()) {
        const auto* label = dyn_cast<DbgLabelRecord>(&record);
        auto number = label ? parse_number(label->getLabel()->getName(), kCallName) : std::nullopt;
        if (!number) continue;
        const Call& call = calls_[*number];
        if (!inlining.may_lack_calls_of(call.callee)) continue;
        Place place(cast<DISubprogram>(label->getLabel()->getScope()), label->getLabel()->getLine(),
                    record.getDebugLoc().getInlinedAt());
        if (!marked.try_emplace(place, &call).second) result.insert(call.regions.begin(), call.regions.end());
      }
      if (const DILocation* at = instruction.getDebugLoc(); at && isa<CallBase>(instruction))
        marked.erase(place_of(*at));
    }
    if (!marked.empty() && !is_known) {
      inlined = inlined_calls(function);
      is_known = true;
    }
    for (const auto& [place, call] : marked)
      if (!inlined.contains(place)) result.insert(call->regions.begin(), call->regions.end());
  }
  return result;
}

} // namespace rdb::codegen
