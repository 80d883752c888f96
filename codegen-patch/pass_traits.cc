// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/pass_traits.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/PassInstrumentation.h"

namespace rdb::codegen {

using namespace llvm;

PassTraits traits_of(StringRef pass) {
  static const PassTraits drops{.drops_blocks = true, .bypasses_blocks = true};
  static const PassTraits joins{
      .drops_blocks = true, .bypasses_blocks = true, .joins_blocks = true, .joins_arms = true};
  static const PassTraits simplifies{.simplifies = true};
  static const PassTraits unrolls{.unrolls = true};
  static const PassTraits promotes{.removes_variables = true, .cleans_up = true};
  static const StringMap<PassTraits> known = {
      {"SimplifyCFGPass", joins},
      {"LoopSimplifyPass", joins},
      {"JumpThreadingPass", {.drops_blocks = true}}, // looks after records itself
      {"DFAJumpThreadingPass", drops},
      {"ADCEPass", drops},
      {"LoopDeletionPass", drops},
      {"SimpleLoopUnswitchPass", drops},
      {"TailCallElimPass", drops},
      {"CallSiteSplittingPass", drops},
      {"MergeICmpsPass", drops},
      {"LoopRotatePass", {.joins_blocks = true, .copies_code = true}},
      {"LoopVectorizePass", {.copies_code = true}},
      {"LoopFullUnrollPass", unrolls},
      {"LoopUnrollPass", unrolls},
      {"InstCombinePass", {.simplifies = true, .removes_variables = true}},
      {"AggressiveInstCombinePass", simplifies},
      {"BDCEPass", simplifies},
      {"CorrelatedValuePropagationPass", simplifies},
      {"SROAPass", promotes},
      {"PromotePass", promotes},
      {"DSEPass", {.removes_variables = true}},
  };
  if (auto found = known.find(pass); found != known.end()) return found->second;
  return {.runs_others = isSpecialPass(
              pass, {"PassManager", "Adaptor", "RequireAnalysisPass", "InvalidateAnalysisPass"})};
}

} // namespace rdb::codegen
