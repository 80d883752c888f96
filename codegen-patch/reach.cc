// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The write and the region may belong to different turns of a loop, so values are compared as such: the same
// value in two turns is not the same address. What a program promises by `restrict` binds its own accesses,
// not those of a region, and is not relied on.
#include "codegen-patch/reach.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BasicAliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
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
        basic(function.getDataLayout(), function, library, assumptions, &tree), all(library), queries(all) {
    all.addAAResult(basic);
    queries.enableCrossIterationMode();
  }
  TargetLibraryInfoImpl library_names;
  TargetLibraryInfo library;
  DominatorTree tree;
  LoopInfo loops;
  AssumptionCache assumptions;
  BasicAAResult basic;
  AAResults all;
  BatchAAResults queries;
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

void AliasQueries::spare(Target& target, const std::vector<Reach>& arguments) {
  if (!target.pointer) return;
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), 64); ++i) {
    const Reach& reach = arguments[i];
    if (reach.own && is_apart(target, *reach.own, reach.variable->own)) target.spares_own |= 1ULL << i;
    if (reach.behind && !reach.variable->deeply && is_apart(target, *reach.behind, reach.variable->behind))
      target.spares_behind |= 1ULL << i;
  }
}

} // namespace rdb::codegen
