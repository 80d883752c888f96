// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an instruction that writes to memory may change, as far as staleness is concerned.
#pragma once

#include "codegen-patch/pieces.h"

#include <cstdint>
#include <map>
#include <string>

namespace llvm {
class DILocation;
class DISubprogram;
class Instruction;
class MDNode;
class Value;
} // namespace llvm

namespace rdb::codegen {

struct Target {
  enum class Kind {
    kVariable, // a local variable: the one whose stack slot has this ordinal
    kGlobal,   // a global variable, by linkage name
    kUnknown,  // anything that a pointer may lead to
  };
  Kind kind = Kind::kUnknown;
  unsigned slot = 0;
  const llvm::DISubprogram* scope = nullptr;    // kVariable: the function whose slot it is
  const llvm::DILocation* inlined_at = nullptr; // ... and the copy of it
  bool escapes = false;                         // kVariable, kGlobal: pointers to it exist
  std::string global;
  // Until code generation: where it writes, as an address, an offset to it and a number of bytes; null and 0
  // if that is not known.
  const llvm::Value* pointer = nullptr;
  int64_t offset = 0;
  uint64_t size = 0;
  uint64_t slot_size = 0;             // kVariable
  const llvm::MDNode* type = nullptr; // access tag: as an object of which type it writes
  // Arguments of the region in question, and behind them the global variables that it reads, as bits by
  // position, that it cannot touch: the variable itself, and what the variable points to.
  uint64_t spares_own = 0;
  uint64_t spares_behind = 0;
  std::string note; // for those who work on placement, if they ask for it
};

// May a pointer to this stack slot or global variable be kept somewhere?
bool slot_escapes(const llvm::Value& address);

// The same for many, in code that does not change: each is looked at once, however many writes to it there
// are.
class EscapingSlots {
public:
  bool has(const llvm::Value& address) {
    auto [known, is_new] = known_.try_emplace(&address, false);
    if (is_new) known->second = slot_escapes(address);
    return known->second;
  }

private:
  std::map<const llvm::Value*, bool> known_;
};

// Is it the stack slot of a variable that becomes a value? Its stores are followed as values.
bool is_simple_slot(const llvm::Value* pointer, EscapingSlots& escaping);

// The function that an instruction calls by name; empty if none.
std::string callee_name(const llvm::Instruction& instruction);

Target global_target(const std::string& name);

// Of a write to a variable: can it change these bits of the variable?
bool may_touch(const Target& target, const Extent& bits);

// Does it write to memory that debug code could read? Markers, lifetimes and the like do not.
bool is_memory_write(const llvm::Instruction& instruction);

Target target_of_write(const llvm::Instruction& instruction, EscapingSlots& escaping);

// The pointer through which a store or memory intrinsic writes, and how many bytes; null and 0 if not known.
const llvm::Value* written_pointer(const llvm::Instruction& instruction);
uint64_t written_size(const llvm::Instruction& instruction);

} // namespace rdb::codegen
