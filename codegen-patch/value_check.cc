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

unsigned bits_of(const DbgVariableRecord& record) {
  if (auto fragment = record.getExpression()->getFragmentInfo())
    return static_cast<unsigned>(fragment->SizeInBits);
  return static_cast<unsigned>(record.getVariable()->getSizeInBits().value_or(64));
}

// The phis that a value is computed from.
void find_phis(const Value& value, std::set<const PHINode*>& found) {
  std::set<const Value*> seen; // values share what they are computed from
  std::vector<const Value*> work{&value};
  while (!work.empty()) {
    const Value* one = work.back();
    work.pop_back();
    if (!seen.insert(one).second) continue;
    if (auto* phi = dyn_cast<PHINode>(one)) found.insert(phi);
    if (!Samples::is_computed(*one)) continue;
    for (const Value* operand : cast<Instruction>(one)->operands())
      work.push_back(operand);
  }
}

bool depends_on(const Value& value, const PHINode& phi) {
  std::set<const PHINode*> found;
  find_phis(value, found);
  return found.contains(&phi);
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

bool is_constant(const Sampled& sampled) {
  return all_of(sampled, [&](const Sample& sample) { return !sample || *sample == *sampled.back(); });
}

} // namespace

std::optional<ValueCheck::Counter> ValueCheck::counter_of(const DbgVariableRecord& record,
                                                          const Samples& fixed) {
  std::set<const PHINode*> phis;
  for (const Value* value : record.location_ops())
    find_phis(*value, phis);
  if (phis.size() != 1) return std::nullopt;
  const PHINode& phi = **phis.begin();
  if (phi.getNumIncomingValues() != 2) return std::nullopt;
  unsigned turn = depends_on(*phi.getIncomingValue(0), phi) ? 0 : 1;
  if (!depends_on(*phi.getIncomingValue(turn), phi)) return std::nullopt;
  Samples any = Samples::on_top_of(fixed);
  std::optional<Sampled> value = any.find(record);
  const Sampled* start = any.find(*phi.getIncomingValue(1 - turn));
  const Sampled* next = any.find(*phi.getIncomingValue(turn));
  if (!value || !start || !next) return std::nullopt;
  auto value_at = [&](const Sampled& counter) {
    Samples samples = Samples::on_top_of(fixed);
    samples.set(phi, counter);
    return samples.find(record);
  };
  std::optional<Sampled> first = value_at(*start);
  std::optional<Sampled> following = value_at(*next);
  auto step = following ? difference(*following, *value, bits_of(record)) : std::nullopt;
  // Divided, a counter does not change by the same where it comes to zero from below.
  for (size_t i = 0; step && i < kFirstFar; ++i)
    (*step)[i].reset();
  if (!first || !step || !is_constant(*step)) return std::nullopt;
  return Counter{phi.getIncomingBlock(1 - turn), phi.getIncomingBlock(turn), *first, *step};
}

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
  for (auto& [record, expected] : expected_)
    expected.counter = counter_of(*record, leaves);
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

bool ValueCheck::is_as_before(const DbgVariableRecord& record, const Expected& expected, Now& now) const {
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
  auto counter = expected.counter ? counter_of(record, now.fixed) : std::nullopt;
  return counter && counter->from == expected.counter->from && counter->turn == expected.counter->turn &&
         agree(counter->first, expected.counter->first, bits_of(record)) &&
         agree(counter->step, expected.counter->step, bits_of(record));
}

void ValueCheck::after(Function& function) {
  if (expected_.empty()) return;
  find_new_phis(function);
  Now now = look(function);
  for (DbgVariableRecord* record : value_records_of(function)) {
    auto is_of = [&](const Expected& expected) {
      return expected.variable == record->getVariable() &&
             expected.inlined_at == record->getDebugLoc().getInlinedAt();
    };
    auto own = expected_.find(record);
    // A variable that was in memory until now has records for the first time.
    if (none_of(expected_, [&](const auto& entry) { return is_of(entry.second); })) continue;
    // One that is new is a copy of another.
    bool good = own != expected_.end() && is_of(own->second)
                    ? is_as_before(*record, own->second, now)
                    : any_of(expected_, [&](const auto& entry) {
                        return is_of(entry.second) &&
                               entry.second.expression->getFragmentInfo() ==
                                   record->getExpression()->getFragmentInfo() &&
                               is_as_before(*record, entry.second, now);
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
