// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What extraction finds out about the debug code of a translation unit; placement builds on it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class MDNode;
} // namespace llvm

namespace rdb::extractor {

// Bytes that debug code may read, from some address on.
struct Reads {
  bool everywhere = false;                          // anywhere before or behind it, too
  std::vector<std::pair<int64_t, uint64_t>> ranges; // offset and size
  bool untyped = false;                             // as objects of types that are not known, too
  std::vector<const llvm::MDNode*> types;           // access tags of the compile of the debug code
};

// How far debug code follows a variable, and what it reads on the way.
struct Follow {
  bool dereferenced = false; // it may read memory that the variable points to
  bool deeply = false;       // ... and memory that is pointed to from there
  Reads own;                 // of the variable itself
  Reads behind;              // of what it points to
  Reads deeper;              // of what is pointed to from there
};

// A program variable that a region uses: argument `position` of its debug function.
struct Variable : Follow {
  enum class Kind {
    kLocal,      // a variable or parameter of the host function
    kThis,       // the host function's `this`
    kActivation, // a debug variable shared by regions of one call of the host function
  };
  Kind kind = Kind::kLocal;
  std::string key;      // as in VariableNote
  unsigned ordinal = 0; // among the variables of the function that share the key
  std::string name;
  std::string type;
  uint64_t size = 0;
  uint64_t align = 1;
};

// A region in one host function: a region in a template has several.
struct DebugFunction {
  unsigned region = 0; // number in the unit
  std::string symbol;
  std::string host;      // linkage name of the host function in the compile with regions
  std::string host_name; // as a user would write it
  std::vector<Variable> variables;
  bool reads_memory = false;                  // through calls or pointers of unknown origin
  std::map<std::string, Follow> globals_read; // program's global variables that it reads by name
  std::string refused;                        // why there is no debug function; empty if there is one
  std::string unavailable; // why it cannot run: something it needs is not in the program any more
};

// A symbol that debug code reaches through a slot.
struct Slot {
  std::string symbol;
  std::string slot;
  bool internal = false; // a static of this unit: its address is that of the unit's own symbol
  bool thread_local_ = false;
  uint64_t size = 0; // of a variable, as the source has it
};

struct Extraction {
  std::string unit; // key
  std::vector<DebugFunction> functions;
  std::vector<Slot> slots;
};

} // namespace rdb::extractor
