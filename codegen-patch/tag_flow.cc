// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The states at a block's begin are those of all paths to it; what a label finds there says which memory may
// be stale.
#include "codegen-patch/tag_flow.h"

#include "codegen-patch/debug_names.h"

#include "llvm/IR/Module.h"

#include <deque>

namespace rdb::codegen {

using namespace llvm;

TagFlow::TagFlow(const WriteTags& tags, Function& function, const std::vector<DbgLabelRecord*>& labels)
    : tags_(tags), function_(function), tree_(function), loops_(tree_),
      labels_(labels.begin(), labels.end()) {
  find_marks();
  split_by_slots();
  find_writes();
  run();
}

TagFlow::Set TagFlow::map_states(Set states, Set if_in_step, Set if_behind, Set if_ahead) {
  Set result = states & kTangled;
  if (states & kInStep) result |= if_in_step;
  if (states & kBehind) result |= if_behind;
  if (states & kAhead) result |= if_ahead;
  return result;
}

void TagFlow::walk(const Block& block, std::vector<Set>& states, bool note) {
  std::set<unsigned> just_written; // several instructions may be one write of the source
  for (const Step& step : block.steps) {
    Set& state = states[step.group];
    const Group* group = groups_.empty() ? nullptr : &groups_[step.group];
    switch (step.kind) {
    case Step::Kind::kMark:
      // One write for several marks: the last one's, which is all that memory shows.
      state = map_states(state, kBehind, group->collects || group->writes.size() < 2 ? kBehind : kTangled,
                         kInStep);
      just_written.erase(step.group);
      break;
    case Step::Kind::kWrite:
      if (!just_written.insert(step.group).second) break;
      state = map_states(state, kAhead, kInStep, kTangled);
      // What was to be written there before is made good.
      if (state == kInStep && step.pieces)
        for (const Piece& piece : *step.pieces)
          for (unsigned covered : piece.groups)
            states[covered] = kInStep;
      break;
    case Step::Kind::kForeignWrite:
      foreign_write(step, states);
      break;
    case Step::Kind::kFresh:
      for (const Piece& piece : *step.pieces)
        for (unsigned covered : piece.groups)
          states[covered] = kInStep;
      break;
    case Step::Kind::kDefine:
      for (unsigned defined : *step.groups)
        states[defined] = map_states(states[defined], kInStep, kTangled, kTangled);
      break;
    case Step::Kind::kLabel:
      just_written.clear();
      if (note) note_moved(step, block, states);
      break;
    }
  }
}

void TagFlow::foreign_write(const Step& step, std::vector<Set>& states) const {
  uint64_t explained = 0;
  if (step.pieces)
    for (const Piece& piece : *step.pieces) {
      explained += static_cast<uint64_t>(piece.end - piece.begin);
      // The last one that is due; the others are made good by it. If none is, it may be ahead of its mark, or
      // none of them.
      bool due = any_of(piece.groups, [&](unsigned group) { return states[group] == kBehind; });
      for (unsigned group : piece.groups)
        states[group] =
            map_states(states[group], due ? kInStep : kInStep | kAhead, kInStep, due ? kAhead : kTangled);
    }
  if (step.target.size > 0 && explained == step.target.size) return;
  const Target& target = step.target;
  for (unsigned i = 0; i < groups_.size(); ++i) {
    if (!groups_[i].writes.empty() || pieces_of_.contains(i)) continue;
    for (unsigned tag : groups_[i].tags) {
      const Target& other = tags_.tags_[tag].target;
      bool same =
          target.kind == other.kind &&
          (target.kind == Target::Kind::kUnknown || target.kind == Target::Kind::kVariable
               ? target.slot == other.slot && target.scope == other.scope &&
                     (target.kind == Target::Kind::kUnknown || target.inlined_at == groups_[i].inlined_at)
               : target.global == other.global);
      if (same && !tags_.tags_[tag].is_call) states[i] |= kTangled;
    }
  }
}

std::set<unsigned> TagFlow::groups_after(const Step& label, const Block& home) const {
  std::set<unsigned> groups;
  for (const Step* step = &label + 1; step != home.steps.data() + home.steps.size(); ++step)
    groups.insert(step->group);
  std::set<unsigned> seen;
  std::vector<unsigned> work(home.successors.begin(), home.successors.end());
  while (!work.empty()) {
    unsigned index = work.back();
    work.pop_back();
    if (!seen.insert(index).second) continue;
    for (const Step& step : blocks_[index].steps)
      groups.insert(step.group);
    work.insert(work.end(), blocks_[index].successors.begin(), blocks_[index].successors.end());
  }
  return groups;
}

bool TagFlow::is_sure(const Group& group) const {
  return !group.writes.empty() && all_of(group.tags, [&](unsigned tag) {
    const Function* callee = function_.getParent()->getFunction(tags_.tags_[tag].callee);
    return tags_.tags_[tag].is_call && callee && !callee->onlyAccessesArgMemory();
  });
}

bool TagFlow::may_not_return(const Group& group) const {
  return any_of(group.tags, [&](unsigned tag) {
    const Function* callee = function_.getParent()->getFunction(tags_.tags_[tag].callee);
    return tags_.tags_[tag].is_call && !(callee && callee->willReturn() && callee->doesNotThrow());
  });
}

void TagFlow::note_moved(const Step& label, const Block& home, const std::vector<Set>& states) {
  auto& [stale, moved_call] = result[label.label];
  std::optional<std::set<unsigned>> after;
  for (unsigned i = 0; i < groups_.size(); ++i) {
    if ((states[i] & ~kInStep) == 0 || groups_[i].is_inlined) continue;
    if (is_sure(groups_[i])) {
      if (!after) after = groups_after(label, home);
      if (!after->contains(i)) continue;
    }
    if (!groups_[i].writes.empty() && may_not_return(groups_[i])) {
      const std::string& callee = tags_.tags_[*groups_[i].tags.begin()].callee;
      moved_call = callee.empty() ? "a function by its address" : fmt::format("'{}'", callee);
    }
    bool is_located = groups_[i].is_piece || (!groups_[i].records.empty() && !groups_[i].is_scattered &&
                                              groups_[i].memory.size() == groups_[i].marks.size());
    for (unsigned tag : groups_[i].tags) {
      Target target = tags_.tags_[tag].target;
      // By now it may be known that what is called does not write at all.
      if (const Function* callee = tags_.tags_[tag].is_call
                                       ? function_.getParent()->getFunction(tags_.tags_[tag].callee)
                                       : nullptr;
          callee && callee->onlyReadsMemory())
        continue;
      if (is_traced())
        target.note = fmt::format("{} '{}', states {}, {} marks, {} writes{}",
                                  tags_.tags_[tag].is_call ? "call" : "store", tags_.tags_[tag].callee,
                                  states[i], groups_[i].marks.size(), groups_[i].writes.size(),
                                  groups_[i].is_piece ? ", a piece" : "");
      if (target.kind == Target::Kind::kVariable) {
        target.inlined_at = groups_[i].inlined_at;
        if (Extent bits = groups_[i].slot_bits; bits.end != 0) {
          target.offset = static_cast<int64_t>(bits.begin / 8);
          target.size = (bits.end - bits.begin) / 8;
        }
        if (!slots().contains({target.scope, target.slot, target.inlined_at}))
          continue; // not in memory: it cannot be stale there
        target.pointer = slot_of(target, target.inlined_at);
        stale.push_back(target);
      } else if (!is_located) {
        stale.push_back(target);
      } else {
        for (const Memory& memory : groups_[i].memory) {
          target.pointer = memory.address;
          target.offset = memory.from_address;
          target.size = memory.whole_size;
          stale.push_back(target);
        }
      }
    }
  }
}

void TagFlow::run() {
  std::vector<std::vector<Set>> in(blocks_.size(), std::vector<Set>(std::max<size_t>(groups_.size(), 1), 0));
  in[0].assign(in[0].size(), kInStep);
  std::deque<unsigned> work{0};
  std::vector<bool> queued(blocks_.size(), false);
  std::vector<bool> reached(blocks_.size(), false);
  reached[0] = true;
  while (!work.empty()) {
    unsigned index = work.front();
    work.pop_front();
    queued[index] = false;
    std::vector<Set> states = in[index];
    walk(blocks_[index], states, /*note=*/false);
    for (unsigned next : blocks_[index].successors) {
      bool changed = !reached[next];
      reached[next] = true;
      for (size_t i = 0; i < states.size(); ++i) {
        Set merged = in[next][i] | states[i];
        changed |= merged != in[next][i];
        in[next][i] = merged;
      }
      if (changed && !queued[next]) {
        queued[next] = true;
        work.push_back(next);
      }
    }
  }
  for (size_t i = 0; i < blocks_.size(); ++i) {
    std::vector<Set> states = in[i];
    walk(blocks_[i], states, /*note=*/true);
  }
}

WriteTags::MovedAt WriteTags::find_moved(Function& function,
                                         const std::vector<DbgLabelRecord*>& labels) const {
  return TagFlow(*this, function, labels).result;
}

} // namespace rdb::codegen
