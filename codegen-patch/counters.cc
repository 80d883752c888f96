// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/counters.h"

#include "codegen-patch/records.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Instructions.h"

#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

bool depends_on(const Value& value, const PHINode& phi) {
  SmallPtrSet<const Value*, 16> seen; // values share what they are computed from
  std::vector<const Value*> work{&value};
  while (!work.empty()) {
    const Value* one = work.back();
    work.pop_back();
    if (one == &phi) return true;
    if (!Samples::is_computed(*one) || !seen.insert(one).second) continue;
    for (const Value* operand : cast<Instruction>(one)->operands())
      work.push_back(operand);
  }
  return false;
}

// None if it is not defined in some sample.
std::optional<Sampled> difference(const Sampled& a, const Sampled& b, unsigned bits) {
  Sampled result;
  for (size_t i = 0; i < kSamples; ++i) {
    if (!a[i] || !b[i]) return std::nullopt;
    result[i] = a[i]->zextOrTrunc(bits) - b[i]->zextOrTrunc(bits);
    result[i].is_impossible = a[i].is_impossible || b[i].is_impossible;
  }
  return result;
}

bool is_constant(const Sampled& sampled) {
  return all_of(sampled, [&](const Sample& sample) { return !sample || *sample == *sampled.back(); });
}

} // namespace

void Counters::Phis::add(const Phis& others) {
  has_more |= others.has_more || (one && others.one && one != others.one);
  if (!one) one = others.one;
}

// Without recursion: a value may be computed in thousands of steps.
Counters::Phis Counters::phis_of(const Value& value) {
  std::vector<const Value*> work{&value};
  while (!work.empty()) {
    const Value* next = work.back();
    auto [known, is_new] = phis_.try_emplace(next);
    bool is_computed = Samples::is_computed(*next);
    if (is_new) {
      known->second.one = dyn_cast<PHINode>(next);
      if (is_computed)
        for (const Value* operand : cast<Instruction>(next)->operands())
          if (!phis_.contains(operand)) work.push_back(operand);
      continue;
    }
    work.pop_back();
    if (is_computed)
      for (const Value* operand : cast<Instruction>(next)->operands())
        known->second.add(phis_[operand]);
  }
  return phis_[&value];
}

Counters::Turn* Counters::turn_of(const PHINode& phi) {
  auto [known, is_new] = turns_.try_emplace(&phi);
  std::optional<Turn>& turn = known->second;
  if (!is_new || phi.getNumIncomingValues() != 2) return turn ? &*turn : nullptr;
  unsigned way = depends_on(*phi.getIncomingValue(0), phi) ? 0 : 1;
  if (!depends_on(*phi.getIncomingValue(way), phi)) return nullptr;
  const Sampled* start = any_.find(*phi.getIncomingValue(1 - way));
  const Sampled* next = any_.find(*phi.getIncomingValue(way));
  if (!start || !next) return nullptr;
  turn = Turn{way, Samples::on_top_of(leaves_), Samples::on_top_of(leaves_)};
  turn->at_start.set(phi, *start);
  turn->at_next.set(phi, *next);
  return &*turn;
}

std::optional<Counter> Counters::find(const DbgVariableRecord& record) {
  Phis phis;
  for (const Value* value : record.location_ops())
    phis.add(phis_of(*value));
  Turn* turn = phis.one && !phis.has_more ? turn_of(*phis.one) : nullptr;
  if (!turn) return std::nullopt;
  std::optional<Sampled> value = any_.find(record);
  std::optional<Sampled> first = turn->at_start.find(record);
  std::optional<Sampled> following = turn->at_next.find(record);
  auto step = value && following ? difference(*following, *value, bits_of(record)) : std::nullopt;
  // Divided, a counter does not change by the same where it comes to zero from below.
  for (size_t i = 0; step && i < kFirstFar; ++i)
    (*step)[i].reset();
  if (!first || !step || !is_constant(*step)) return std::nullopt;
  return Counter{phis.one->getIncomingBlock(1 - turn->way), phis.one->getIncomingBlock(turn->way), *first,
                 *step};
}

} // namespace rdb::codegen
