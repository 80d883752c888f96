// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Has memory, at a region's place in the machine code, the contents that the source says? The optimiser may
// move, merge and delete stores and calls, also across a debug label. So before optimisation each instruction
// gets its ordinal in its function as its line number, and the order of all writes to memory (events) is
// kept. In the machine code the same events are found again by their lines, also after inlining. A write is
// in its place relative to a region if, looking at these two alone, nothing comes right before the region
// that did not do so in the source, and the write does not follow the region where it did not in the source.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace llvm {
class DILocation;
class DISubprogram;
class Function;
class MachineFunction;
class MachineInstr;
class Value;
} // namespace llvm

namespace rdb::codegen {

// What a write to memory may change.
struct Target {
  enum class Kind {
    kVariable, // a local variable: the one whose stack slot has this ordinal
    kGlobal,   // a global variable, by linkage name
    kUnknown,  // anything that a pointer may lead to
  };
  Kind kind = Kind::kUnknown;
  unsigned slot = 0;
  bool escapes = false; // kVariable: pointers to it exist
  std::string global;
};

// May a pointer to this stack slot be kept somewhere?
bool slot_escapes(const llvm::Value& address);

class EventOrder {
public:
  // Gives every instruction of the function its ordinal as the line of its debug location and remembers the
  // order of its events.
  void record(llvm::Function& function, llvm::DISubprogram& subprogram);

  // What may be stale at a label of the machine code.
  std::vector<Target> stale_at(const llvm::MachineInstr& label) const;

  // Did a function around the label call itself, and does so no more? Then its calls are turns of a loop, and
  // a region stands for other turns than the source says.
  bool lost_recursion(const llvm::MachineInstr& label) const;

private:
  struct Event {
    Target target;
    bool is_call = false;
    const llvm::DISubprogram* callee = nullptr; // of a call whose code the module has
  };
  struct Block {
    std::vector<unsigned> ordinals; // of events, markers and calls, in their order
    std::vector<unsigned> successors;
    bool exits = false;
  };
  struct Skeleton {
    std::vector<Block> blocks;
    std::map<unsigned, Event> events;
  };
  struct Level; // a function around the label, from the inside out

  bool writes(const llvm::DISubprogram* subprogram, std::set<const llvm::DISubprogram*>& around) const;
  void check_level(const Level& level, const llvm::MachineInstr& label, std::vector<Target>& stale) const;

  std::map<const llvm::DISubprogram*, Skeleton> skeletons_;
  std::map<const llvm::Function*, const llvm::DISubprogram*> subprograms_;
};

} // namespace rdb::codegen
