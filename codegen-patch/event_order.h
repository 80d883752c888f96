// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Has memory, at a region's place in the machine code, the contents that the source says? The optimiser may
// move, merge and delete stores and calls, also across a debug label. So before optimisation each instruction
// gets its ordinal in its function as its line number, and the order of all writes to memory (events) is
// kept. In the machine code the same events are found again by their lines, also after inlining. A write is
// in its place relative to a region if, among these two alone, no event follows another that did not follow
// it in the source (the entry and the exit of the function are events too).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace llvm {
class DILocation;
class DISubprogram;
class Function;
class MachineFunction;
class MachineInstr;
} // namespace llvm

namespace rdb::codegen {

// A write to memory that is not where it belongs relative to a region.
struct Displaced {
  enum class Target { kVariable, kGlobal, kUnknown };
  Target target = Target::kUnknown;
  std::string name;  // linkage name of the global; name of the local variable's stack slot
  unsigned slot = 0; // kVariable: line that names the slot
};

class EventOrder {
public:
  // Gives every instruction of the function its ordinal as line of its debug location and remembers the
  // order of its events. `marks` are the places of regions, by ordinal of the instruction that follows.
  void record(llvm::Function& function, llvm::DISubprogram& subprogram);

  // The writes that are displaced at a label in the machine code. `ordinal` is the label's own line.
  std::vector<Displaced> displaced_at(const llvm::MachineInstr& label) const;

private:
  struct Event {
    unsigned ordinal;
    bool is_call;
    Displaced target;
  };
  struct Block {
    std::vector<unsigned> ordinals; // of events and of places, in order
    std::vector<unsigned> successors;
    bool exits = false;
  };
  struct Skeleton {
    std::vector<Block> blocks;
    std::map<unsigned, Event> events;
  };
  std::map<const llvm::DISubprogram*, Skeleton> skeletons_;
};

} // namespace rdb::codegen
