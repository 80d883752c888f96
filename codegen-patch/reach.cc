// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The write and the region may belong to different turns of a loop, so values are compared as such: the same
// value in two turns is not the same address. What a program promises by `restrict` binds its own accesses,
// not those of a region, and is not relied on. Types are: the optimiser moved the writes by them, and a
// region that reads an object as one of another type asks for what the language does not define.
#include "codegen-patch/reach.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BasicAliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TypeBasedAliasAnalysis.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace rdb::codegen {

using namespace llvm;

struct AliasQueries::Analyses {
  explicit Analyses(Function& function)
      : library_names(function.getParent()->getTargetTriple()), library(library_names), tree(function),
        loops(tree), assumptions(function),
        basic(function.getDataLayout(), function, library, assumptions, &tree), all(library), queries(all),
        by_type(/*UsingTypeSanitizer=*/false), types(library),
        anywhere(PoisonValue::get(PointerType::get(function.getContext(), 0))) {
    all.addAAResult(basic);
    queries.enableCrossIterationMode();
    types.addAAResult(by_type);
  }
  TargetLibraryInfoImpl library_names;
  TargetLibraryInfo library;
  DominatorTree tree;
  LoopInfo loops;
  AssumptionCache assumptions;
  BasicAAResult basic;
  AAResults all;
  BatchAAResults queries;
  TypeBasedAAResult by_type;
  AAResults types;
  const Value* anywhere;
  std::map<const MDNode*, MDNode*> own_types; // by the tags of the debug code's compile
  std::map<std::pair<const MDNode*, const MDNode*>, bool> types_apart;

  // The same access tag in the compile of the program, which has a context of its own.
  MDNode* own_type(const MDNode* other) {
    auto [entry, is_new] = own_types.try_emplace(other, nullptr);
    if (!is_new) return entry->second;
    LLVMContext& context = anywhere->getContext();
    SmallVector<Metadata*, 8> operands;
    for (const MDOperand& operand : other->operands())
      if (auto* node = dyn_cast<MDNode>(operand.get()))
        operands.push_back(own_type(node));
      else if (auto* text = dyn_cast<MDString>(operand.get()))
        operands.push_back(MDString::get(context, text->getString()));
      else
        operands.push_back(ConstantAsMetadata::get(ConstantInt::get(
            Type::getInt64Ty(context), mdconst::extract<ConstantInt>(operand)->getZExtValue())));
    return own_types[other] = MDNode::get(context, operands);
  }
};

AliasQueries::AliasQueries(Function& function) : analyses_(std::make_unique<Analyses>(function)) {}
AliasQueries::~AliasQueries() = default;

namespace {

bool is_promised_apart(const Value& pointer) {
  auto* parameter = dyn_cast<Argument>(getUnderlyingObject(&pointer, 0));
  return parameter && parameter->hasNoAliasAttr();
}

} // namespace

bool AliasQueries::is_apart(const Target& target, const Value& from, const extractor::Reads& reads) {
  if (isa<UndefValue>(from) || is_promised_apart(from) || is_promised_apart(*target.pointer)) return false;
  const DataLayout& layout = analyses_->tree.getRoot()->getDataLayout();
  // 1. The same base, other bytes.
  APInt read_offset(layout.getIndexTypeSizeInBits(from.getType()), 0);
  const Value* read_base = from.stripAndAccumulateConstantOffsets(layout, read_offset, true);
  APInt written_offset(layout.getIndexTypeSizeInBits(target.pointer->getType()), 0);
  const Value* written_base = target.pointer->stripAndAccumulateConstantOffsets(layout, written_offset, true);
  auto* computed = dyn_cast<Instruction>(read_base);
  bool one_value = !computed || !analyses_->loops.getLoopFor(computed->getParent());
  if (read_base == written_base && one_value && !reads.everywhere && target.size > 0) {
    int64_t written = written_offset.getSExtValue() + target.offset;
    bool apart = true;
    for (auto [offset, size] : reads.ranges) {
      int64_t begin = read_offset.getSExtValue() + offset;
      apart &= begin + static_cast<int64_t>(size) <= written ||
               written + static_cast<int64_t>(target.size) <= begin;
    }
    if (apart) return true;
  }
  // 2. Other objects.
  LocationSize read_size = LocationSize::beforeOrAfterPointer();
  if (!reads.everywhere) {
    int64_t end = 0;
    bool forward = true;
    for (auto [offset, size] : reads.ranges) {
      forward &= offset >= 0;
      end = std::max(end, offset + static_cast<int64_t>(size));
    }
    if (forward) read_size = LocationSize::precise(static_cast<uint64_t>(end));
  }
  LocationSize written_size = target.size > 0 && target.offset == 0 ? LocationSize::precise(target.size)
                                                                    : LocationSize::beforeOrAfterPointer();
  return analyses_->queries.isNoAlias(MemoryLocation(&from, read_size),
                                      MemoryLocation(target.pointer, written_size));
}

bool AliasQueries::is_of_other_type(const Target& target, const extractor::Reads& reads) {
  if (!target.type || reads.untyped) return false;
  return all_of(reads.types, [&](const MDNode* type) {
    auto [entry, is_new] = analyses_->types_apart.try_emplace({target.type, type}, false);
    if (is_new) {
      AAMDNodes written, read;
      written.TBAA = const_cast<MDNode*>(target.type);
      read.TBAA = analyses_->own_type(type);
      LocationSize size = LocationSize::beforeOrAfterPointer();
      entry->second = analyses_->types.isNoAlias(MemoryLocation(analyses_->anywhere, size, written),
                                                 MemoryLocation(analyses_->anywhere, size, read));
    }
    return entry->second;
  });
}

// What is read of a part of a variable, from its first byte on.
static extractor::Reads reads_of_part(const extractor::Reads& all, const Extent& bytes) {
  extractor::Reads reads;
  if (all.everywhere) reads.ranges = {{0, bytes.end - bytes.begin}};
  for (auto [offset, size] : all.ranges) {
    int64_t begin = std::max(offset, static_cast<int64_t>(bytes.begin));
    int64_t end = std::min(offset + static_cast<int64_t>(size), static_cast<int64_t>(bytes.end));
    if (begin < end)
      reads.ranges.emplace_back(begin - static_cast<int64_t>(bytes.begin),
                                static_cast<uint64_t>(end - begin));
  }
  return reads;
}

bool AliasQueries::is_apart(const Target& target, const std::vector<Reach::Home>& parts,
                            const extractor::Reads& reads) {
  return !parts.empty() && all_of(parts, [&](const Reach::Home& part) {
    extractor::Reads own = reads_of_part(reads, part.bytes);
    return own.ranges.empty() || (target.pointer && is_apart(target, *part.address, own));
  });
}

void AliasQueries::spare(Target& target, const std::vector<Reach>& arguments) {
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), 64); ++i) {
    const Reach& reach = arguments[i];
    const extractor::Follow& follow = *reach.follow;
    auto spares = [&](const Value* from, const extractor::Reads& reads) {
      return is_of_other_type(target, reads) || (target.pointer && from && is_apart(target, *from, reads));
    };
    if (spares(reach.own, follow.own) || is_apart(target, reach.parts, follow.own))
      target.spares_own |= 1ULL << i;
    if (spares(reach.behind, follow.behind) && (!follow.deeply || is_of_other_type(target, follow.deeper)))
      target.spares_behind |= 1ULL << i;
  }
}

} // namespace rdb::codegen
