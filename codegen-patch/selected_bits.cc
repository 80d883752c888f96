// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/selected_bits.h"

#include "codegen-patch/debug_names.h"
#include "codegen-patch/record_flow.h"
#include "codegen-patch/samples.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/KnownBits.h"

#include <algorithm>

namespace rdb::codegen {

using namespace llvm;

namespace {

constexpr unsigned kDeepest = 6; // uses of uses that are looked at

bool needs_lowest(const Value& value, unsigned bits, unsigned depth);

unsigned width_of(const Value& value) {
  Type* type = value.getType();
  return type->isPointerTy() ? 64 : static_cast<unsigned>(type->getPrimitiveSizeInBits().getKnownMinValue());
}

// Of `a & b` only those bits of a are needed where b may have a one, of `a | b` where b may have a zero.
bool hides_bits(const BinaryOperator& user, const Value& other) {
  KnownBits known = computeKnownBits(&other, user.getDataLayout());
  return !(user.getOpcode() == Instruction::And ? known.Zero : known.One).isZero();
}

bool has_one_bit(const Value& value, const DataLayout& layout) {
  if (!value.getType()->isIntegerTy()) return false;
  KnownBits known = computeKnownBits(&value, layout);
  return known.getBitWidth() > 1 && (known.Zero | known.One).popcount() + 1 >= known.getBitWidth();
}

bool is_need_of(const IntrinsicInst& user, const Use& use, unsigned bits, unsigned depth) {
  switch (user.getIntrinsicID()) {
  case Intrinsic::ctpop:
  case Intrinsic::ctlz:
  case Intrinsic::cttz:
  case Intrinsic::sadd_with_overflow:
  case Intrinsic::uadd_with_overflow:
  case Intrinsic::ssub_with_overflow:
  case Intrinsic::usub_with_overflow:
  case Intrinsic::smul_with_overflow:
  case Intrinsic::umul_with_overflow:
  case Intrinsic::sqrt:
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
    return use.getOperandNo() == 0 || user.arg_size() > 1;
  case Intrinsic::umin:
  case Intrinsic::umax:
  case Intrinsic::smin:
  case Intrinsic::smax:
  case Intrinsic::abs:
  case Intrinsic::bswap:
  case Intrinsic::bitreverse:
    return bits == width_of(*use) && needs_lowest(user, bits, depth - 1);
  default:
    return false;
  }
}

// Does this use need the lowest bits of what it uses?
bool is_need(const Use& use, unsigned bits, unsigned depth) {
  const auto& user = *cast<Instruction>(use.getUser());
  const Value& value = *use;
  const auto* own = dyn_cast<Instruction>(&value);
  if (own && (isa<PHINode>(user) || user.getParent() != own->getParent())) return true;
  if (!Samples::is_computed(user)) return true;
  if (value.getType()->isFPOrFPVectorTy() && !isa<BitCastInst, CallBase>(user))
    return !value.getType()->isVectorTy();
  if (depth == 0) return false;
  bool is_vector = value.getType()->isVectorTy();
  auto of_result = [&](unsigned result_bits) {
    return result_bits <= width_of(user) && needs_lowest(user, result_bits, depth - 1);
  };
  switch (user.getOpcode()) {
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::Mul:
  case Instruction::Xor:
    return of_result(bits);
  case Instruction::And:
  case Instruction::Or:
    return !hides_bits(cast<BinaryOperator>(user), *user.getOperand(1 - use.getOperandNo())) &&
           of_result(bits);
  case Instruction::UDiv:
  case Instruction::SDiv:
  case Instruction::URem:
  case Instruction::SRem:
    return !is_vector;
  case Instruction::ICmp: {
    // Of a value that is compared with zero the sign may be enough, or the one bit that is not known.
    const auto& compare = cast<ICmpInst>(user);
    bool by_sign = compare.isSigned() && isa<Constant>(user.getOperand(1 - use.getOperandNo()));
    return !is_vector && !by_sign && !has_one_bit(value, user.getDataLayout());
  }
  case Instruction::Shl: {
    const auto* by = use.getOperandNo() == 0 ? dyn_cast<ConstantInt>(user.getOperand(1)) : nullptr;
    return by && of_result(bits + static_cast<unsigned>(by->getLimitedValue(width_of(user))));
  }
  case Instruction::Select:
    return use.getOperandNo() == 0 ? !is_vector : of_result(bits);
  case Instruction::Trunc:
    return of_result(bits);
  case Instruction::ZExt:
  case Instruction::SExt:
    return !is_vector && of_result(bits);
  case Instruction::Freeze:
  case Instruction::PtrToInt:
  case Instruction::PtrToAddr:
  case Instruction::IntToPtr:
    return of_result(bits);
  case Instruction::BitCast:
    return bits == width_of(value) && of_result(bits);
  case Instruction::GetElementPtr:
    return of_result(width_of(user));
  case Instruction::UIToFP:
  case Instruction::SIToFP:
    return !is_vector;
  case Instruction::Call:
    return !is_vector && is_need_of(cast<IntrinsicInst>(user), use, bits, depth);
  default:
    return false;
  }
}

bool needs_lowest(const Value& value, unsigned bits, unsigned depth) {
  return any_of(value.uses(),
                [&](const Use& use) { return isa<Instruction>(use.getUser()) && is_need(use, bits, depth); });
}

bool is_selected(const DbgVariableRecord& record, const Value& value) {
  if (!Samples::is_computed(value)) return true;
  unsigned bits = width_of(value);
  auto elements = record.getExpression()->getElements();
  bool plain = elements.empty() || elements[0] == dwarf::DW_OP_LLVM_fragment;
  if (plain && !value.getType()->isVectorTy())
    bits = std::min(bits, static_cast<unsigned>(piece_of(record).size));
  // Nobody computes it at all: it has no record behind selection either.
  return value.use_empty() || needs_lowest(value, bits, kDeepest);
}

} // namespace

void drop_partly_selected(Function& function) {
  for (Instruction& instruction : instructions(function))
    for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange())) {
      if (record.isDbgDeclare() || record.isKillLocation()) continue;
      if (all_of(record.location_ops(), [&](const Value* value) { return is_selected(record, *value); }))
        continue;
      if (is_traced())
        fmt::print(stderr, "rdb: in {}: '{}' is not computed in full\n", function.getName().str(),
                   record.getVariable()->getName().str());
      record.setKillLocation();
    }
}

} // namespace rdb::codegen
