// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where instruction selection leaves a block or a call (a structure by value, inline assembly) to its
// thorough half, labels come out elsewhere in the block, and what only computes something may be ahead of
// other code; and a label in front of a call that comes to nothing (memmove to where it is) does not come out
// at all. Without optimisation the code of a block stands in the program's order, so labels are put back by
// their lines (number_code()).
#pragma once

#include "llvm/CodeGen/MachineBasicBlock.h"

#include <array>
#include <map>
#include <optional>
#include <vector>

namespace llvm {
class BasicBlock;
class MachineFunction;
class MachineInstr;
} // namespace llvm

namespace rdb::codegen {

// The code of a block that has no labels yet. They are put there in the order of their lines.
class BlockLines {
public:
  explicit BlockLines(llvm::MachineBasicBlock& code);

  // The place of a label, by its line; none if there is code that does something out of order.
  std::optional<llvm::MachineBasicBlock::iterator> find_place(unsigned line);
  // A label of the line that was asked for last is there now, or at the end if there was no place.
  void add(llvm::MachineInstr& label, unsigned line);

  // The first line of its code; 0: none has a line.
  unsigned first_line() const { return first_line_; }

private:
  struct Entry {
    unsigned line;
    size_t position;
    llvm::MachineInstr* instruction;
  };
  // Instructions by their lines. All of them, or those that do something.
  struct Gap {
    std::vector<Entry> entries;           // by line
    std::vector<size_t> first_behind;     // the entry of the first instruction in the code, from each on
    size_t next = 0;                      // the first whose line is not below the one asked for
    size_t before_position = 0;           // of the last instruction in the code that is below it
    llvm::MachineInstr* before = nullptr; // ... and that instruction
    void prepare();
    void advance(unsigned line);
    const Entry* behind() const { return next < entries.size() ? &entries[first_behind[next]] : nullptr; }
    bool is_open() const { return !before || !behind() || before_position < behind()->position; }
  };

  llvm::MachineBasicBlock& code_;
  std::array<Gap, 2> gaps_;
  size_t label_position_ = 0;      // of the place that was found last
  size_t terminator_position_ = 0; // of the first one
  size_t end_position_ = 0;
  unsigned first_line_ = 0;
};

class CodeLines {
public:
  explicit CodeLines(llvm::MachineFunction& function);

  // The code of the block with a label of this line. Code generation may have made several of it; null: none.
  llvm::MachineBasicBlock* find_code(const llvm::BasicBlock& block, unsigned line);
  BlockLines& of(llvm::MachineBasicBlock& code);

private:
  std::map<const llvm::BasicBlock*, std::vector<llvm::MachineBasicBlock*>> made_of_;
  std::map<const llvm::MachineBasicBlock*, BlockLines> lines_;
};

} // namespace rdb::codegen
