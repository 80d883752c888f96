// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines are asked for in ascending order, so what lies before one is found by going on from the last answer.
// Instructions have even positions; a label has the odd position after the instruction that it follows.
#include "codegen-patch/code_lines.h"

#include "codegen-patch/spots.h"

#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/IR/DebugInfoMetadata.h"

#include <algorithm>
#include <utility>

namespace rdb::codegen {

using namespace llvm;

namespace {

unsigned line_of(const MachineInstr& instruction) {
  const DILocation* at = is_code(instruction) ? instruction.getDebugLoc().get() : nullptr;
  return at ? at->getLine() : 0;
}

// Can one tell whether it was executed, without optimisation? Variables are in memory then.
bool has_effect(const MachineInstr& instruction) {
  return instruction.mayStore() || instruction.isCall() || instruction.isTerminator() ||
         instruction.hasUnmodeledSideEffects();
}

} // namespace

void BlockLines::Gap::prepare() {
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.line, entry.position); });
  first_behind.resize(entries.size());
  for (size_t i = entries.size(); i-- > 0;) {
    first_behind[i] = i;
    if (i + 1 < entries.size() && entries[first_behind[i + 1]].position < entries[i].position)
      first_behind[i] = first_behind[i + 1];
  }
}

void BlockLines::Gap::advance(unsigned line) {
  for (; next < entries.size() && entries[next].line < line; ++next)
    if (!before || before_position < entries[next].position) {
      before = entries[next].instruction;
      before_position = entries[next].position;
    }
}

BlockLines::BlockLines(MachineBasicBlock& code) : code_(code) {
  size_t position = 0;
  MachineBasicBlock::iterator first_terminator = code.getFirstTerminator();
  for (MachineBasicBlock::iterator next = code.begin(); next != code.end(); ++next) {
    position += 2;
    if (next == first_terminator) terminator_position_ = position;
    unsigned line = line_of(*next);
    if (line == 0) continue;
    if (first_line_ == 0 || line < first_line_) first_line_ = line;
    gaps_[0].entries.push_back({line, position, &*next});
    if (has_effect(*next)) gaps_[1].entries.push_back({line, position, &*next});
  }
  end_position_ = position + 1;
  if (first_terminator == code.end()) terminator_position_ = position + 2;
  for (Gap& gap : gaps_)
    gap.prepare();
}

std::optional<MachineBasicBlock::iterator> BlockLines::find_place(unsigned line) {
  for (Gap& gap : gaps_)
    gap.advance(line);
  const Gap& gap = gaps_[0].is_open() ? gaps_[0] : gaps_[1];
  if (!gap.is_open()) {
    label_position_ = end_position_;
    return std::nullopt;
  }
  if (gap.before) {
    label_position_ = gap.before_position | 1;
    return std::next(gap.before->getIterator());
  }
  if (const Entry* behind = gap.behind()) {
    label_position_ = behind->position - 1;
    return behind->instruction->getIterator();
  }
  label_position_ = terminator_position_ - 1;
  return code_.getFirstTerminator();
}

void BlockLines::add(MachineInstr& label, unsigned line) {
  if (first_line_ == 0 || line < first_line_) first_line_ = line;
  for (Gap& gap : gaps_)
    if (!gap.before || gap.before_position <= label_position_) {
      gap.before = &label;
      gap.before_position = label_position_;
    }
}

CodeLines::CodeLines(MachineFunction& function) {
  for (MachineBasicBlock& code : function)
    if (const BasicBlock* block = code.getBasicBlock()) made_of_[block].push_back(&code);
}

BlockLines& CodeLines::of(MachineBasicBlock& code) {
  return lines_.try_emplace(&code, code).first->second;
}

MachineBasicBlock* CodeLines::find_code(const BasicBlock& block, unsigned line) {
  MachineBasicBlock* found = nullptr;
  for (MachineBasicBlock* code : made_of_[&block]) {
    unsigned first = of(*code).first_line();
    if (!found || (first != 0 && first < line)) found = code;
  }
  return found;
}

} // namespace rdb::codegen
