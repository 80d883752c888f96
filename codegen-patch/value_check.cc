// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/value_check.h"

#include "codegen-patch/debug_names.h"
#include "codegen-patch/records.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace rdb::codegen {

using namespace llvm;

namespace {

unsigned kind_of(const Instruction& instruction) {
  const auto* comparison = dyn_cast<CmpInst>(&instruction);
  return instruction.getOpcode() << 8 | (comparison ? static_cast<unsigned>(comparison->getPredicate()) : 0);
}

// A value that is the same in nearly all samples (x == 1000) says little about how it is computed.
bool is_telling(const Sampled& sampled) {
  constexpr int64_t kFew = 3;
  int64_t defined = 0, most = 0;
  for (const Sample& one : sampled)
    if (one) {
      ++defined;
      most = std::max<int64_t>(
          most, count_if(sampled, [&](const Sample& other) { return other && *other == *one; }));
    }
  return defined - most >= kFew;
}

} // namespace

// Does somebody need the whole value, whatever else holds?
bool ValueCheck::is_needed(const Value& value) const {
  return any_of(value.users(), [&](const User* user) {
    if (isa<PHINode>(user)) return phis_ == Phis::kNeedAll;
    return isa<Instruction>(user) && !Samples::is_computed(*user) && !isa<SwitchInst>(user);
  });
}

void ValueCheck::before(const Function& function, Phis phis) {
  phis_ = phis;
  known_.clear();
  expected_.clear();
  std::vector<DbgVariableRecord*> records = value_records_of(function);
  if (records.empty()) return;
  Samples samples(function, 1);
  for (const DbgVariableRecord* record : records)
    expected_[record] = {record->getVariable(),   record->getDebugLoc().getInlinedAt(),
                         record->getExpression(), {},
                         samples.find(*record),   {}};
  constexpr uint64_t kOtherSeed = 1 << 20;
  Samples leaves(function, kOtherSeed);
  for (const Value* value : samples.all())
    if (!Samples::is_computed(*value)) leaves.set(*value, *samples.known(*value));
  Counters counters(leaves);
  for (auto& [record, expected] : expected_)
    expected.counter = counters.find(*record);
  // What comes into a phi may be computed from other phis.
  std::map<const PHINode*, Incoming> incoming;
  for (bool grows = true; grows;) {
    grows = false;
    std::vector<const PHINode*> phis_found;
    for (const Value* value : samples.all())
      if (auto* phi = dyn_cast<PHINode>(value); phi && !incoming.contains(phi)) phis_found.push_back(phi);
    for (const PHINode* phi : phis_found) {
      grows = true;
      incoming[phi];
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
        if (const Sampled* sampled = samples.find(*phi->getIncomingValue(i)))
          incoming[phi].emplace_back(phi->getIncomingBlock(i), *sampled);
    }
  }
  numbers_.clear();
  for (const Value* value : samples.all()) {
    numbers_[value] = known_.size();
    Known& known = known_.emplace_back(Known{const_cast<Value*>(value), *samples.known(*value), false, {}});
    auto* phi = dyn_cast<PHINode>(value);
    known.is_fixed = (!Samples::is_computed(*value) && !phi) || is_needed(*value);
    if (phi) known.incoming = std::move(incoming[phi]);
    if (!Samples::is_computed(*value)) continue;
    const auto& instruction = *cast<Instruction>(value);
    known.kind = kind_of(instruction);
    known.operands.assign(instruction.value_op_begin(), instruction.value_op_end());
  }
  for (auto& [record, expected] : expected_)
    for (const Value* value : record->location_ops())
      if (auto number = numbers_.find(value); number != numbers_.end())
        expected.operands.push_back(number->second);
}

// A phi that is gone may have come back as another one; records tell as which.
void ValueCheck::find_new_phis(const Function& function) {
  for (const DbgVariableRecord* record : value_records_of(function)) {
    auto expected = expected_.find(record);
    if (expected == expected_.end() || expected->second.expression != record->getExpression() ||
        expected->second.operands.size() != record->getNumVariableLocationOps())
      continue;
    for (unsigned i = 0; i < expected->second.operands.size(); ++i) {
      Known& known = known_[expected->second.operands[i]];
      if (!known.now && !known.incoming.empty() && isa<PHINode>(record->getVariableLocationOp(i))) {
        known.now = record->getVariableLocationOp(i);
        known.is_new = true;
        known.is_fixed = false;
      }
    }
  }
}

// Those values that are what they were.
Samples ValueCheck::fixed_samples(const Function& function, const std::set<size_t>& changed) const {
  Samples samples(function, 2 + changed.size());
  for (size_t i = 0; i < known_.size(); ++i) {
    const Value* now = known_[i].now;
    if (!now || isa<Constant>(now) || changed.contains(i)) continue;
    // A phi that took the place of something else stands for itself only.
    bool is_phi = isa<PHINode>(now) && !known_[i].incoming.empty();
    bool is_own =
        Samples::is_computed(*now) ? known_[i].is_fixed && is_needed(*now) : known_[i].is_fixed || is_phi;
    if (is_own) samples.set(*now, known_[i].sampled);
  }
  return samples;
}

// What values are computed to now.
ValueCheck::Now ValueCheck::look(const Function& function) const {
  std::set<size_t> changed;
  for (;;) {
    Samples fixed = fixed_samples(function, changed);
    Samples samples = fixed;
    size_t before = changed.size();
    for (size_t i = 0; i < known_.size(); ++i) {
      const Value* now = known_[i].now;
      auto* phi = dyn_cast_or_null<PHINode>(now);
      if (!phi || known_[i].incoming.empty() || (known_[i].is_fixed && is_needed(*phi))) continue;
      for (const auto& [block, sampled] : known_[i].incoming) {
        int index = phi->getBasicBlockIndex(block);
        const Sampled* incoming =
            index < 0 ? nullptr : samples.find(*phi->getIncomingValue(static_cast<unsigned>(index)));
        if (incoming ? !agree(sampled, *incoming) : known_[i].is_new) changed.insert(i);
      }
    }
    if (changed.size() == before) return {std::move(fixed), std::move(samples), std::move(changed)};
  }
}

bool ValueCheck::is_untouched(const Value& value, const Now& now, std::set<const Value*>& seen) const {
  if (isa<Constant>(value) || !seen.insert(&value).second) return true;
  auto number = numbers_.find(&value);
  if (number == numbers_.end()) return isa<MetadataAsValue>(value);
  const Known& known = known_[number->second];
  if (known.now != &value || now.changed.contains(number->second)) return false;
  if (!Samples::is_computed(value)) return known.operands.empty();
  const auto& instruction = cast<Instruction>(value);
  return kind_of(instruction) == known.kind && equal(instruction.operand_values(), known.operands) &&
         all_of(instruction.operand_values(),
                [&](const Value* one) { return is_untouched(*one, now, seen); });
}

bool ValueCheck::is_as_before(const DbgVariableRecord& record, const Expected& expected, Now& now,
                              Counters& counters) const {
  // 1. The same values, or what took their place.
  bool same = record.getExpression() == expected.expression &&
              expected.operands.size() == record.getNumVariableLocationOps();
  for (unsigned i = 0; same && i < expected.operands.size(); ++i) {
    const Known& known = known_[expected.operands[i]];
    const Value* value = record.getVariableLocationOp(i);
    bool is_own = known.is_fixed ? isa<Constant>(value) || !Samples::is_computed(*value) || is_needed(*value)
                                 : isa<PHINode>(value) && !known.incoming.empty();
    same = known.now == value && is_own && !now.changed.contains(expected.operands[i]);
  }
  if (same) return true;
  // 2. Others, which are computed to the same.
  std::optional<Sampled> sampled = now.computed.find(record);
  if (sampled && expected.sampled && agree(*sampled, *expected.sampled, bits_of(record))) {
    std::set<const Value*> seen;
    auto is_untouched_here = [&](const Value* value) { return is_untouched(*value, now, seen); };
    if (is_telling(*expected.sampled) ||
        (record.getExpression() == expected.expression && all_of(record.location_ops(), is_untouched_here)))
      return true;
  }
  // 3. One that counts along.
  auto counter = expected.counter ? counters.find(record) : std::nullopt;
  return counter && counter->from == expected.counter->from && counter->turn == expected.counter->turn &&
         agree(counter->first, expected.counter->first, bits_of(record)) &&
         agree(counter->step, expected.counter->step, bits_of(record));
}

void ValueCheck::after(Function& function) {
  if (expected_.empty()) return;
  find_new_phis(function);
  Now now = look(function);
  Counters counters(now.fixed);
  std::map<std::pair<const DILocalVariable*, const DILocation*>, std::vector<const Expected*>> by_variable;
  for (const auto& [record, expected] : expected_)
    by_variable[{expected.variable, expected.inlined_at}].push_back(&expected);
  for (DbgVariableRecord* record : value_records_of(function)) {
    auto same = by_variable.find({record->getVariable(), record->getDebugLoc().getInlinedAt()});
    // A variable that was in memory until now has records for the first time.
    if (same == by_variable.end()) continue;
    auto own = expected_.find(record);
    bool is_own = own != expected_.end() && own->second.variable == record->getVariable() &&
                  own->second.inlined_at == record->getDebugLoc().getInlinedAt();
    // One that is new is a copy of another.
    bool good = is_own ? is_as_before(*record, own->second, now, counters)
                       : any_of(same->second, [&](const Expected* expected) {
                           return expected->expression->getFragmentInfo() ==
                                      record->getExpression()->getFragmentInfo() &&
                                  is_as_before(*record, *expected, now, counters);
                         });
    if (good) continue;
    if (is_traced())
      fmt::print(stderr, "rdb: in {}: '{}' is computed to something else\n", function.getName().str(),
                 record->getVariable()->getName().str());
    record->setKillLocation();
  }
  known_.clear();
  expected_.clear();
}

} // namespace rdb::codegen
