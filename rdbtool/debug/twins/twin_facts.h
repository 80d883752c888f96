// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a twin object says of itself. To run a function again and to compare what it did, machine code is not
// enough: where its result is, which of its variables are called how in the source, which functions the
// optimiser has changed. The compiler knows, and writes it as text, one record a line, into the section
// `.rdbtwin` of the object. Objects come with a bundle, so every line is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rdb::debug {

inline constexpr std::string_view kTwinFactsSection = ".rdbtwin";

// In the terms of the source: in the object, local symbols are global.
enum class TwinLinkage : uint8_t { global, weak, local };

enum class ResultRegister : uint8_t { rax, rdx, xmm0, xmm1, st0, st1 };
struct ResultPart {
  ResultRegister where;
  unsigned bytes;       // of st0 and st1: 10
  uint64_t padding = 0; // bits of the register that mean nothing
  bool operator==(const ResultPart&) const = default;
};

// What the prototype uses. Bit n is the nth of rdi rsi rdx rcx r8 r9, or xmm n.
struct ArgumentRegisters {
  uint8_t integer = 0;
  uint8_t vector = 0;
  bool on_stack = false; // some of them
  bool variable = false; // there may be more
};

struct TwinFacts {
  struct Unit {
    std::string key, source, directory;
  } unit;

  struct Function {
    std::string symbol;
    std::string name; // as users write it
    std::string file;
    unsigned line = 0;
    TwinLinkage linkage = TwinLinkage::global;
    std::vector<ResultPart> result; // empty: it has none
    ArgumentRegisters arguments;
    bool naked = false, coroutine = false, noreturn = false, ifunc = false, constructor = false;
    bool always_inline = false;
    bool foreign_convention = false; // its registers are others than these
    bool assembly = false;           // has inline assembly
    std::optional<uint32_t> fold;    // of functions whose bodies are equal; those have the same number
    bool changed = false;            // the program's takes other arguments
    bool result_removed = false;     // in the program
    ArgumentRegisters poisoned;      // those that a call in the program leaves undefined
    bool address_taken = false;      // in this unit
  };
  std::vector<Function> functions;

  // Direct calls, of functions by index.
  struct Call {
    uint32_t caller, callee;
    uint64_t count;
  };
  std::vector<Call> calls;

  struct Region {
    std::string debug_function;
    uint32_t host; // index in `functions`
    unsigned line;
    // Of the program: its variables alone, other memory, also statics of the unit by name.
    enum class Reads : uint8_t { variables, memory, statics } reads;
    // A debug variable that it shares with other regions in the same call of the function: by name.
    struct Shared {
      uint32_t position; // of the argument
      std::string name;
      uint64_t size;
    };
    std::vector<Shared> shared = {};
  };
  std::vector<Region> regions;

  // Another name of a function.
  struct Alias {
    std::string symbol;
    uint32_t function;
  };
  std::vector<Alias> aliases;

  // A variable that no other unit can name.
  struct Static {
    std::string symbol;
    std::string name;     // in the source
    std::string function; // that it is in; empty: none
    std::string file;
    unsigned line = 0;
    uint64_t size = 0;
    bool is_constant = false;
  };
  std::vector<Static> statics;

  const Function* function(std::string_view symbol) const;

  std::unordered_map<std::string, uint32_t> function_index; // by symbol
};

// Cannot be called in the program as the source says it is: a twin calls the twin's own.
inline bool is_twins_alone(const TwinFacts::Function& function) {
  return function.changed || function.result_removed || function.foreign_convention;
}

// Throws UserError that names the object and the line.
TwinFacts read_twin_facts(std::string_view text, const std::string& object);

} // namespace rdb::debug
