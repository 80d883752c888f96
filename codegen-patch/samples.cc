// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/samples.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

#include <set>
#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

uint64_t mix(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

APInt spread(uint64_t seed, unsigned width) {
  std::vector<uint64_t> words((width + 63) / 64);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = mix(seed + i);
  return {width, words};
}

using Result = std::optional<APInt>;

// What is not defined has some value all the same, so that the rest can be compared.
Result binary(unsigned opcode, const APInt& a, const APInt& other) {
  unsigned width = a.getBitWidth();
  bool divides = opcode == Instruction::UDiv || opcode == Instruction::SDiv || opcode == Instruction::URem ||
                 opcode == Instruction::SRem;
  bool shifts = opcode == Instruction::Shl || opcode == Instruction::LShr || opcode == Instruction::AShr;
  if (divides && other.isZero()) return APInt(width, 0);
  APInt b = shifts ? APInt(width, other.urem(width)) : other;
  switch (opcode) {
  case Instruction::Add:
    return a + b;
  case Instruction::Sub:
    return a - b;
  case Instruction::Mul:
    return a * b;
  case Instruction::UDiv:
    return a.udiv(b);
  case Instruction::SDiv:
    return a.sdiv(b);
  case Instruction::URem:
    return a.urem(b);
  case Instruction::SRem:
    return a.srem(b);
  case Instruction::Shl:
    return a.shl(b);
  case Instruction::LShr:
    return a.lshr(b);
  case Instruction::AShr:
    return a.ashr(b);
  case Instruction::And:
    return a & b;
  case Instruction::Or:
    return a | b;
  case Instruction::Xor:
    return a ^ b;
  default:
    return std::nullopt;
  }
}

// Any other operation: something that depends on it and its operands.
Result opaque(const Instruction& instruction, const std::vector<APInt>& operands, unsigned width) {
  uint64_t seed = instruction.getOpcode();
  if (auto* compare = dyn_cast<CmpInst>(&instruction)) seed = mix(seed + compare->getPredicate());
  if (auto* extract = dyn_cast<ExtractValueInst>(&instruction))
    for (unsigned index : extract->indices())
      seed = mix(seed + index);
  if (auto* insert = dyn_cast<InsertValueInst>(&instruction))
    for (unsigned index : insert->indices())
      seed = mix(seed + index);
  if (auto* shuffle = dyn_cast<ShuffleVectorInst>(&instruction))
    for (int element : shuffle->getShuffleMask())
      seed = mix(seed + static_cast<uint64_t>(element));
  if (auto* call = dyn_cast<IntrinsicInst>(&instruction)) seed = mix(seed + call->getIntrinsicID());
  for (const APInt& operand : operands)
    seed = mix(seed ^ hash_value(operand));
  return spread(seed, width);
}

Result evaluate(const Instruction& instruction, const std::vector<APInt>& operands, unsigned width) {
  if (instruction.getType()->isVectorTy()) return opaque(instruction, operands, width);
  if (isa<BinaryOperator>(instruction) && instruction.getType()->isIntegerTy())
    return binary(instruction.getOpcode(), operands[0], operands[1]);
  if (auto* compare = dyn_cast<ICmpInst>(&instruction);
      compare && !compare->getOperand(0)->getType()->isVectorTy())
    return APInt(1, ICmpInst::compare(operands[0], operands[1], compare->getPredicate()) ? 1 : 0);
  switch (instruction.getOpcode()) {
  case Instruction::Select:
    return operands[0].isZero() ? operands[2] : operands[1];
  case Instruction::Freeze:
    return operands[0];
  case Instruction::SExt:
    return operands[0].sext(width);
  case Instruction::Trunc:
  case Instruction::ZExt:
  case Instruction::PtrToInt:
  case Instruction::PtrToAddr:
  case Instruction::IntToPtr:
  case Instruction::BitCast:
    return operands[0].zextOrTrunc(width);
  case Instruction::Call:
    switch (cast<IntrinsicInst>(instruction).getIntrinsicID()) {
    case Intrinsic::umin:
      return APIntOps::umin(operands[0], operands[1]);
    case Intrinsic::umax:
      return APIntOps::umax(operands[0], operands[1]);
    case Intrinsic::smin:
      return APIntOps::smin(operands[0], operands[1]);
    case Intrinsic::smax:
      return APIntOps::smax(operands[0], operands[1]);
    case Intrinsic::abs:
      return operands[0].abs();
    default:
      return opaque(instruction, operands, width);
    }
  default:
    return opaque(instruction, operands, width);
  }
}

// The operations of debug expressions, all on 64 bits.
std::optional<unsigned> opcode_of(uint64_t operation) {
  switch (operation) {
  case dwarf::DW_OP_plus:
    return Instruction::Add;
  case dwarf::DW_OP_minus:
    return Instruction::Sub;
  case dwarf::DW_OP_mul:
    return Instruction::Mul;
  case dwarf::DW_OP_div:
    return Instruction::SDiv;
  case dwarf::DW_OP_mod:
    return Instruction::URem;
  case dwarf::DW_OP_and:
    return Instruction::And;
  case dwarf::DW_OP_or:
    return Instruction::Or;
  case dwarf::DW_OP_xor:
    return Instruction::Xor;
  case dwarf::DW_OP_shl:
    return Instruction::Shl;
  case dwarf::DW_OP_shr:
    return Instruction::LShr;
  case dwarf::DW_OP_shra:
    return Instruction::AShr;
  default:
    return std::nullopt;
  }
}

// One sample of what an expression makes of its operands.
Result run(const DIExpression& expression, const std::vector<APInt>& operands) {
  std::vector<APInt> stack;
  bool is_list = any_of(expression.expr_ops(), [](const DIExpression::ExprOperand& operation) {
    return operation.getOp() == dwarf::DW_OP_LLVM_arg;
  });
  if (!is_list) stack.push_back(operands[0]);
  bool converts = false; // between the two halves of a conversion
  for (const DIExpression::ExprOperand& operation : expression.expr_ops()) {
    uint64_t op = operation.getOp();
    if (auto opcode = opcode_of(op)) {
      if (stack.size() < 2) return std::nullopt;
      Result result = binary(*opcode, stack[stack.size() - 2], stack.back());
      if (!result) return std::nullopt;
      stack.pop_back();
      stack.back() = *result;
      continue;
    }
    switch (op) {
    case dwarf::DW_OP_LLVM_fragment:
    case dwarf::DW_OP_stack_value:
      break;
    case dwarf::DW_OP_LLVM_arg:
      if (operation.getArg(0) >= operands.size()) return std::nullopt;
      stack.push_back(operands[operation.getArg(0)]);
      break;
    case dwarf::DW_OP_constu:
    case dwarf::DW_OP_consts:
      stack.emplace_back(64, operation.getArg(0));
      break;
    case dwarf::DW_OP_plus_uconst:
      stack.back() += operation.getArg(0);
      break;
    case dwarf::DW_OP_neg:
      stack.back().negate();
      break;
    case dwarf::DW_OP_not:
      stack.back().flipAllBits();
      break;
    case dwarf::DW_OP_LLVM_convert: {
      auto bits = static_cast<unsigned>(operation.getArg(0));
      if (bits == 0 || bits > 64) return std::nullopt;
      APInt part = stack.back().trunc(bits);
      stack.back() = operation.getArg(1) == dwarf::DW_ATE_signed && !converts ? part.sext(64) : part.zext(64);
      converts = !converts;
      break;
    }
    case dwarf::DW_OP_deref:
      stack.back() = spread(mix(op) ^ stack.back().getZExtValue(), 64);
      break;
    default:
      return std::nullopt;
    }
  }
  return stack.empty() ? Result() : stack.back();
}

} // namespace

bool agree(const Sampled& a, const Sampled& b, std::optional<unsigned> bits) {
  unsigned compared = 0, possible = 0;
  bool is_same = true;
  for (size_t i = 0; i < kSamples; ++i) {
    if (!a[i] || !b[i]) continue;
    unsigned width = std::max(bits.value_or(std::max(a[i]->getBitWidth(), b[i]->getBitWidth())), 1U);
    bool is_possible = !a[i].is_impossible && !b[i].is_impossible;
    if (a[i]->zextOrTrunc(width) != b[i]->zextOrTrunc(width)) {
      if (is_possible) return false;
      is_same = false;
    }
    ++compared;
    if (is_possible) ++possible;
  }
  constexpr unsigned kEnough = 8;
  return (is_same ? compared : possible) >= kEnough;
}

bool Samples::is_computed(const Value& value) {
  auto* instruction = dyn_cast<Instruction>(&value);
  if (!instruction || isa<PHINode>(instruction) || instruction->mayReadOrWriteMemory()) return false;
  if (isa<CallBase>(instruction)) return isa<IntrinsicInst>(instruction);
  return !isa<AllocaInst>(instruction) && !instruction->isTerminator() && !instruction->isEHPad();
}

std::optional<unsigned> Samples::width(const Value& value) const {
  Type* type = value.getType();
  if (!type->isSized() || type->isEmptyTy()) return std::nullopt;
  TypeSize size = type->isSingleValueType() ? layout_->getTypeSizeInBits(type) : TypeSize::getFixed(64);
  return size.isScalable() ? std::nullopt : std::optional(static_cast<unsigned>(size.getFixedValue()));
}

Samples::Samples(const Function& function, uint64_t seed)
    : layout_(&function.getDataLayout()), state_(seed << 40) {
  constexpr int64_t kSmall = 8;
  std::set<int64_t> compared;
  for (int64_t number = -1; number <= kSmall; ++number)
    compared.insert(number);
  auto add = [&](const Value* value) {
    const auto* constant = dyn_cast<ConstantInt>(value);
    if (!constant || constant->getValue().getSignificantBits() > 63) return;
    for (int64_t near : {-1, 0, 1})
      compared.insert(constant->getSExtValue() + near);
  };
  for (const Instruction& instruction : instructions(function))
    if (isa<ICmpInst>(instruction))
      add(instruction.getOperand(1));
    else if (auto* choice = dyn_cast<SwitchInst>(&instruction))
      for (const auto& arm : choice->cases())
        add(arm.getCaseValue());
  compared_ = std::make_shared<const std::vector<int64_t>>(compared.begin(), compared.end());
}

Samples Samples::on_top_of(const Samples& base) {
  Samples samples;
  samples.base_ = &base;
  samples.layout_ = base.layout_;
  samples.compared_ = base.compared_;
  samples.state_ = base.state_;
  return samples;
}

// In the last samples any two differ by a multiple of all numbers up to 20: the differences of pointers, and
// what is computed from them, are such multiples in the program too.
APInt Samples::random(unsigned width, size_t sample) {
  constexpr size_t kFirstEven = 38;
  constexpr uint64_t kMultiple = 232792560;
  constexpr unsigned kBits = 28; // of that
  if (sample < 2) return {width, sample, false, true};
  uint64_t seed = state_ += 0x9e3779b97f4a7c15;
  if (sample < kFirstFar)
    return {width, static_cast<uint64_t>((*compared_)[mix(seed) % compared_->size()]), true, true};
  if (sample < kFirstEven || width < kBits + 4) return spread(seed, width);
  APInt factor = spread(seed, std::min(width, 64U) - kBits - 1).zext(width);
  return factor * APInt(width, kMultiple) + APInt(width, mix(sample) >> (64 - kBits));
}

Sampled Samples::random(unsigned width) {
  Sampled result;
  for (size_t i = 0; i < kSamples; ++i)
    result[i] = random(width, i);
  return result;
}

// A division that is said to leave no rest, and leaves one.
static bool leaves_rest(const Instruction& instruction, const std::vector<APInt>& operands) {
  const auto* exact = dyn_cast<PossiblyExactOperator>(&instruction);
  if (!exact || !exact->isExact() || instruction.getType()->isVectorTy()) return false;
  switch (instruction.getOpcode()) {
  case Instruction::SDiv:
    return !operands[1].isZero() && !operands[0].srem(operands[1]).isZero();
  case Instruction::UDiv:
    return !operands[1].isZero() && !operands[0].urem(operands[1]).isZero();
  default: // shifts to the right
    return operands[0].countr_zero() < operands[1].getLimitedValue(operands[0].getBitWidth());
  }
}

const Sampled* Samples::known(const Value& value) const {
  auto found = values_.find(&value);
  if (found != values_.end()) return &found->second;
  return base_ ? base_->known(value) : nullptr;
}

void Samples::set(const Value& value, const Sampled& sampled) {
  auto bits = width(value);
  if (bits && all_of(sampled, [&](const auto& sample) { return !sample || sample->getBitWidth() == *bits; }))
    add(value, sampled);
}

const Sampled* Samples::add(const Value& value, const Sampled& sampled) {
  auto [known, is_new] = values_.insert_or_assign(&value, sampled);
  if (is_new) order_.push_back(&value);
  return &known->second;
}

// What a value is made of; a phi with one way is the same behind a loop as inside.
static SmallVector<const Value*> parts_of(const Value& value) {
  const auto* phi = dyn_cast<PHINode>(&value);
  if ((!phi || phi->getNumIncomingValues() != 1) && !Samples::is_computed(value)) return {};
  SmallVector<const Value*> parts;
  for (const Value* operand : cast<Instruction>(value).operands())
    if (!isa<Function, MetadataAsValue, BasicBlock>(operand)) parts.push_back(operand);
  return parts;
}

// Without recursion: a value may be computed in thousands of steps.
const Sampled* Samples::find(const Value& value) {
  std::vector<const Value*> work{&value};
  SmallPtrSet<const Value*, 16> begun;
  while (!work.empty()) {
    const Value& next = *work.back();
    auto bits = width(next);
    if (!bits || known(next)) {
      work.pop_back();
    } else if (begun.insert(&next).second) {
      for (const Value* part : reverse(parts_of(next)))
        work.push_back(part);
    } else {
      work.pop_back();
      add(next, take(next, *bits));
    }
  }
  return known(value);
}

const Sampled* Samples::part(const Value& value) {
  auto bits = width(value);
  if (!bits) return nullptr;
  const Sampled* sampled = known(value);
  return sampled ? sampled : add(value, random(*bits));
}

Sampled Samples::take(const Value& value, unsigned bits) {
  Sampled result;
  if (auto* integer = dyn_cast<ConstantInt>(&value); integer && !integer->getType()->isVectorTy())
    result.fill(integer->getValue());
  else if (auto* number = dyn_cast<ConstantFP>(&value); number && !number->getType()->isVectorTy())
    result.fill(number->getValueAPF().bitcastToAPInt());
  else if (isa<ConstantPointerNull>(value))
    result.fill(APInt(bits, 0));
  else if (isa<ConstantExpr>(value) && value.getType()->isPointerTy())
    result = address(value, bits);
  else if (auto* phi = dyn_cast<PHINode>(&value); phi && phi->getNumIncomingValues() == 1)
    result = *part(*phi->getIncomingValue(0));
  else if (is_computed(value))
    result = compute(cast<Instruction>(value), bits);
  else
    result = random(bits);
  return result;
}

Sampled Samples::address(const Value& constant, unsigned width) {
  APInt offset(width, 0);
  const Value* base = constant.stripAndAccumulateConstantOffsets(*layout_, offset, true);
  if (base == &constant) return random(width);
  Sampled result = *find(*base);
  for (auto& sample : result)
    if (sample) *sample += offset;
  return result;
}

Sampled Samples::compute(const Instruction& instruction, unsigned width) {
  Sampled result;
  std::vector<const Sampled*> operands;
  if (auto* element = dyn_cast<GetElementPtrInst>(&instruction);
      element && !element->getType()->isVectorTy()) {
    SmallMapVector<Value*, APInt, 4> variable;
    APInt constant(width, 0);
    const Sampled* base = part(*element->getPointerOperand());
    if (!base || !element->collectOffset(*layout_, width, variable, constant)) return result;
    for (size_t i = 0; i < kSamples; ++i)
      if ((*base)[i]) {
        result[i] = *(*base)[i] + constant;
        result[i].is_impossible = (*base)[i].is_impossible;
      }
    for (auto& [index, scale] : variable) {
      const Sampled* sampled = part(*index);
      for (size_t i = 0; i < kSamples; ++i)
        if (!sampled || !(*sampled)[i]) {
          result[i].reset();
        } else if (result[i]) {
          *result[i] += (*sampled)[i]->sextOrTrunc(width) * scale;
          result[i].is_impossible |= (*sampled)[i].is_impossible;
        }
    }
    return result;
  }
  for (const Value* operand : parts_of(instruction)) {
    operands.push_back(part(*operand));
    if (!operands.back()) return result;
  }
  for (size_t i = 0; i < kSamples; ++i) {
    std::vector<APInt> values;
    for (const Sampled* operand : operands)
      if ((*operand)[i]) values.push_back(*(*operand)[i]);
    // Of the two results of a choice only one need be defined.
    if (values.size() != operands.size()) continue;
    result[i] = evaluate(instruction, values, width);
    result[i].is_impossible =
        leaves_rest(instruction, values) ||
        any_of(operands, [i](const Sampled* operand) { return (*operand)[i].is_impossible; });
  }
  return result;
}

std::optional<Sampled> Samples::find(const DbgVariableRecord& record) {
  if (record.isKillLocation()) return std::nullopt;
  std::vector<const Sampled*> operands;
  for (const Value* value : record.location_ops()) {
    operands.push_back(find(*value));
    if (!operands.back()) return std::nullopt;
  }
  auto elements = record.getExpression()->getElements();
  if (elements.empty() || elements[0] == dwarf::DW_OP_LLVM_fragment) return *operands[0];
  Sampled result;
  for (size_t i = 0; i < kSamples; ++i) {
    std::vector<APInt> values;
    for (const Sampled* operand : operands)
      if ((*operand)[i]) values.push_back((*operand)[i]->zextOrTrunc(64));
    if (values.size() != operands.size()) continue;
    result[i] = run(*record.getExpression(), values);
    result[i].is_impossible =
        any_of(operands, [i](const Sampled* operand) { return (*operand)[i].is_impossible; });
  }
  return result;
}

} // namespace rdb::codegen
