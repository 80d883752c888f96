// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values are followed with their level: 0 the variable's address, 1 its content, 2 something behind that; to
// read through a value is to read memory of its level. Whatever is not understood may read everything.
#include "llvm-passes/extractor/reads.h"

#include "llvm-passes/extractor/formats.h"
#include "llvm-passes/extractor/library_names.h"

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace rdb::extractor {

using namespace llvm;

namespace {

constexpr unsigned kDeepest = 2;
constexpr size_t kMostSteps = 5000;

// A variable that the code keeps a pointer in and does nothing else with.
bool is_simple_slot(const Value& address) {
  return isa<AllocaInst>(address) && all_of(address.users(), [&](const User* user) {
           auto* store = dyn_cast<StoreInst>(user);
           auto* call = dyn_cast<IntrinsicInst>(user);
           return isa<LoadInst>(user) || (store && store->getValueOperand() != &address) ||
                  (call && call->isLifetimeStartOrEnd());
         });
}

class Reader {
public:
  Reader(const DataLayout& layout, const ConstantUses& code) : layout_(layout), code_(code) {}

  Follow run(Value& address) {
    push(&address, 0, 0);
    while (!work_.empty()) {
      Step step = work_.back();
      work_.pop_back();
      if (!seen_.insert(step).second) continue;
      if (seen_.size() > kMostSteps) {
        read_everything(0);
        break;
      }
      for_each_use(*step.value, [&](Use& use) { follow(step, use); });
    }
    result_.dereferenced = depth_ > 0;
    result_.deeply = depth_ > 1;
    return result_;
  }

private:
  struct Step {
    Value* value;
    unsigned level;
    std::optional<int64_t> offset; // bytes further, if that is known
    bool operator<(const Step& other) const {
      return std::tie(value, level, offset) < std::tie(other.value, other.level, other.offset);
    }
  };

  void push(Value* value, unsigned level, std::optional<int64_t> offset) {
    work_.push_back({value, std::min(level, kDeepest), offset});
  }

  template <class Work>
  void for_each_use(Value& value, const Work& work) {
    if (!isa<Constant>(value)) {
      for (Use& use : value.uses())
        work(use);
      return;
    }
    for (Use* use : code_.of(value))
      work(*use);
    for (Use* use : std::vector<Use*>(further_code_.of(value))) // more may come
      work(*use);
  }

  void follow(const Step& step, Use& use) {
    if (auto* instruction = dyn_cast<Instruction>(use.getUser())) return follow(step, use, *instruction);
    auto* constant = cast<ConstantExpr>(use.getUser());
    if (auto* pointer = dyn_cast<GEPOperator>(constant))
      push(constant, step.level, further(step, *pointer));
    else
      read_everything(step.level);
  }

  Reads& reads(unsigned level) {
    return level == 0 ? result_.own : level == 1 ? result_.behind : result_.deeper;
  }

  void read(const Step& step, TypeSize size, const MDNode* type) {
    depth_ = std::max(depth_, step.level);
    Reads& to = reads(step.level);
    if (step.offset && !size.isScalable())
      to.ranges.emplace_back(*step.offset, size.getFixedValue());
    else
      to.everywhere = true;
    if (!type)
      to.untyped = true;
    else if (!is_contained(to.types, type))
      to.types.push_back(type);
  }

  void read_bytes(unsigned level) {
    depth_ = std::max(depth_, level);
    reads(level).everywhere = reads(level).untyped = true;
  }

  void read_everything(unsigned level) {
    for (; level <= kDeepest; ++level)
      read_bytes(level);
  }

  std::optional<int64_t> further(const Step& step, const GEPOperator& pointer) const {
    APInt offset(layout_.getIndexTypeSizeInBits(pointer.getType()), 0);
    if (!step.offset || pointer.getPointerOperand() != step.value ||
        !pointer.accumulateConstantOffset(layout_, offset))
      return std::nullopt;
    return *step.offset + offset.getSExtValue();
  }

  void follow(const Step& step, Use& use, Instruction& user) {
    Value* value = step.value;
    bool is_address = value->getType()->isPointerTy() || value->getType()->isIntegerTy(64);
    if (auto* pointer = dyn_cast<GEPOperator>(&user)) {
      push(&user, step.level, further(step, *pointer));
    } else if (isa<CastInst, PHINode, SelectInst, BinaryOperator, FreezeInst>(user)) {
      push(&user, step.level, std::nullopt);
    } else if (auto* load = dyn_cast<LoadInst>(&user)) {
      Type* type = load->getType();
      read(step, layout_.getTypeStoreSize(type), load->getMetadata(LLVMContext::MD_tbaa));
      if (type->isPointerTy() || type->isIntegerTy(64))
        push(load, step.level + 1, 0);
      else if (type->isAggregateType() || type->isVectorTy())
        read_everything(step.level + 1);
    } else if (auto* store = dyn_cast<StoreInst>(&user)) {
      follow_store(step, use, *store);
    } else if (auto* call = dyn_cast<CallBase>(&user)) {
      follow_call(step, use, *call);
    } else if (isa<ReturnInst>(user)) {
      for_each_use(*user.getFunction(), [&](Use& other) {
        if (auto* call_to = dyn_cast<CallBase>(other.getUser())) push(call_to, step.level, step.offset);
      });
    } else if (is_address && !isa<CmpInst, BranchInst, SwitchInst>(user)) {
      read_everything(step.level);
    }
  }

  void follow_store(const Step& step, Use& use, StoreInst& store) {
    if (use.getOperandNo() == StoreInst::getPointerOperandIndex()) {
      read(step, layout_.getTypeStoreSize(store.getValueOperand()->getType()),
           store.getMetadata(LLVMContext::MD_tbaa));
      return;
    }
    Value* slot = store.getPointerOperand();
    if (is_simple_slot(*slot)) {
      for (User* user : slot->users())
        if (auto* load = dyn_cast<LoadInst>(user)) push(load, step.level, step.offset);
    } else if (step.level == 0) {
      read_everything(0);
    } else if (step.value->getType()->isPointerTy()) {
      // Kept in something of the debug code's own: as if that were the variable.
      for (unsigned level = 0; level <= kDeepest; ++level)
        reads(level).everywhere = true;
      push(slot, step.level - 1, std::nullopt);
    }
  }

  void follow_call(const Step& step, Use& use, CallBase& call) {
    if (!call.isArgOperand(&use)) return; // it is what is called
    unsigned operand = call.getArgOperandNo(&use);
    if (step.level > 0 && !step.value->getType()->isPointerTy()) return;
    if (uses_as_number(call, operand)) return;
    if (std::optional<unsigned> further = depth_of_show(call)) {
      for (unsigned level = step.level; level <= std::min(step.level + *further, kDeepest); ++level)
        read_bytes(level);
      return;
    }
    Function* callee = call.getCalledFunction();
    if (!callee) return read_everything(step.level);
    if (!callee->isDeclaration() && operand < callee->arg_size() && !call.isByValArgument(operand)) {
      if (!code_.has(*callee)) further_code_.add(*callee);
      push(callee->getArg(operand), step.level, step.offset);
      return;
    }
    if (auto* copy = dyn_cast<MemTransferInst>(&call); copy && operand == 1) {
      // A copy in a variable of the debug code's own: what is read there is read here.
      if (!isa<AllocaInst>(copy->getRawDest())) return read_everything(step.level);
      auto* length = dyn_cast<ConstantInt>(copy->getLength());
      if (!length) return read_everything(step.level);
      read(step, TypeSize::getFixed(length->getZExtValue()), nullptr);
      push(copy->getRawDest(), step.level, step.offset);
      return;
    }
    if (callee->isIntrinsic() || reads_bytes(callee->getName()))
      read_bytes(step.level);
    else
      read_everything(step.level);
  }

  const DataLayout& layout_;
  const ConstantUses& code_;
  ConstantUses further_code_; // that pointers are handed to
  std::vector<Step> work_;
  std::set<Step> seen_;
  Follow result_;
  unsigned depth_ = 0;
};

} // namespace

void ConstantUses::add(Function& function) {
  if (!code_.insert(&function).second) return;
  for (Instruction& instruction : instructions(function))
    for (Use& operand : instruction.operands())
      add(operand);
}

void ConstantUses::add(Use& use) {
  auto* constant = dyn_cast<Constant>(use.get());
  if (!constant || isa<ConstantData>(constant)) return;
  uses_[constant].push_back(&use);
  if (!isa<ConstantExpr>(constant) || !expressions_.insert(constant).second) return;
  for (Use& operand : constant->operands())
    add(operand);
}

const std::vector<Use*>& ConstantUses::of(const Value& constant) const {
  static const std::vector<Use*> none;
  auto found = uses_.find(&constant);
  return found == uses_.end() ? none : found->second;
}

Follow follow_reads(Value& address, const DataLayout& layout, const ConstantUses& code) {
  return Reader(layout, code).run(address);
}

} // namespace rdb::extractor
