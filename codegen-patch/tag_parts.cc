// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes to variables that passes have cut: the variable was taken apart and is in several slots, or a part
// of the write is left out because that memory is written again before the program reads it. Each part has a
// state of its own.
#include "codegen-patch/tag_flow.h"

#include "llvm/Analysis/ValueTracking.h"

namespace rdb::codegen {

using namespace llvm;

void TagFlow::split_by_slots() {
  if (parts_in_slots_.empty()) return;
  for (const auto& [place, number] : by_place_) {
    const Target& target = tags_.tags_[place.first].target;
    if (target.kind != Target::Kind::kVariable) continue;
    auto [first, last] = slots().equal_range({target.scope, target.slot, place.second});
    bool is_known = first != last && std::all_of(first, last, [&](const auto& slot) {
                      return parts_in_slots_.contains(slot.second);
                    });
    if (!is_known) continue;
    std::vector<unsigned>& parts = pieces_of_[number];
    for (; first != last; ++first) {
      Extent bits = parts_in_slots_.at(first->second);
      if (!may_touch(target, bits)) continue;
      if (target.size > 0) {
        auto begin = static_cast<uint64_t>(target.offset) * 8;
        bits = {std::max(bits.begin, begin), std::min(bits.end, begin + target.size * 8)};
      }
      in_slot_[{number, first->second}] = static_cast<unsigned>(groups_.size());
      parts.push_back(static_cast<unsigned>(groups_.size()));
      Group part = groups_[number];
      part.slot_bits = bits;
      groups_.push_back(std::move(part));
    }
  }
}

std::optional<unsigned> TagFlow::group_in_slot(unsigned group, const Instruction& write) const {
  const Value* pointer = written_pointer(write);
  auto found = in_slot_.find({group, pointer ? getUnderlyingObject(pointer, 0) : nullptr});
  return found == in_slot_.end() ? std::nullopt : std::optional(found->second);
}

void TagFlow::split_off_rests(const std::map<const Instruction*, unsigned>& own) {
  std::map<unsigned, std::map<const BasicBlock*, std::vector<Extent>>> written; // bytes, by group and block
  std::set<unsigned> elsewhere;
  for (const auto& [instruction, group] : own) {
    auto range = range_of(*instruction);
    if (!range || range->offset < 0 || !isa<AllocaInst>(range->base)) {
      elsewhere.insert(group);
      continue;
    }
    auto begin = static_cast<uint64_t>(range->offset);
    written[group][instruction->getParent()].push_back({begin, begin + range->size});
  }
  // A write to a variable, and where the slot of it begins in the variable, in bytes.
  auto split_off = [&](unsigned number, const AllocaInst& slot, const Extent& bytes, uint64_t slot_begin) {
    auto parts = written.find(number);
    if (parts == written.end() || elsewhere.contains(number)) return;
    std::vector<Extent> rests;
    for (const auto& [block, extents] : parts->second)
      for (const Extent& gap : gaps_in(bytes, extents))
        if (!is_contained(rests, gap)) rests.push_back(gap);
    if (rests.empty()) return;
    std::vector<unsigned> pieces{number};
    for (const Extent& rest : rests) {
      pieces.push_back(static_cast<unsigned>(groups_.size()));
      Group group = groups_[number];
      uint64_t size = rest.end - rest.begin;
      group.writes.clear();
      group.slot_bits = {(slot_begin + rest.begin) * 8, (slot_begin + rest.end) * 8};
      group.memory.assign(group.marks.size(), {&slot, &slot, static_cast<int64_t>(rest.begin), size, size});
      groups_.push_back(std::move(group));
    }
    pieces_of_[number] = std::move(pieces);
  };
  for (const auto& [place, number] : by_place_) {
    const Target& target = tags_.tags_[place.first].target;
    if (target.kind != Target::Kind::kVariable || target.size == 0 || target.offset < 0) continue;
    if (const AllocaInst* slot = slot_of(target, place.second)) {
      auto begin = static_cast<uint64_t>(target.offset);
      split_off(number, *slot, {begin, begin + target.size}, 0);
    }
  }
  for (const auto& [place, number] : in_slot_) {
    const auto& slot = *cast<AllocaInst>(place.second);
    uint64_t slot_begin = parts_in_slots_.at(&slot).begin / 8;
    Extent bits = groups_[number].slot_bits;
    split_off(number, slot, {bits.begin / 8 - slot_begin, bits.end / 8 - slot_begin}, slot_begin);
  }
}

std::vector<unsigned> TagFlow::groups_of_mark(unsigned group) const {
  auto pieces = pieces_of_.find(group);
  if (pieces == pieces_of_.end()) return {group};
  std::vector<unsigned> groups;
  for (unsigned piece : pieces->second)
    if (piece == group)
      groups.push_back(piece);
    else
      for (unsigned further : groups_of_mark(piece))
        groups.push_back(further);
  return groups;
}

} // namespace rdb::codegen
