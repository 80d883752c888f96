// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a name in a twin object stands for in the recorded process: the rules of twin_object.h, name by name.
#pragma once

#include "rdbtool/debug/twins/twin_object.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rdb::debug {

// How compilers and linkers call what is in a section.
bool is_code(const elf::Section& section);
bool is_constant(const elf::Section& section); // once it is relocated
// Tables for unwinding.
bool is_frames(const elf::Section& section);

class TwinSymbols {
public:
  // `places`: where the object's sections are; 0: they are not loaded.
  TwinSymbols(TwinObject& object, const TwinSurroundings& surroundings, std::vector<uint64_t> places);

  enum class Use : uint8_t {
    address,
    call,   // a direct one
    frames, // unwinding: of the twin's own code
  };
  // Where `offset` bytes behind a symbol is. Of the symbol of a section, that is a place in the section, and
  // counts as the function or variable that is there.
  uint64_t resolve(const elf::Symbol& symbol, uint64_t offset, Use use);
  // A place in the object's own memory; poison if the section is not loaded.
  uint64_t own_or_poison(const elf::Section& section, uint64_t offset);

  // A variable that each thread has: where it is in the block of its image, and of which.
  struct ThreadLocal {
    std::string why = {}; // it cannot be found; empty: it can
    size_t image = 0;
    uint64_t offset = 0;
  };
  ThreadLocal thread_local_variable(const elf::Symbol& symbol);

  // Is what lies there used as the object has it, and not the program's variable in its place?
  bool is_own_data(const elf::Section& section, uint64_t offset);
  // Has the section local variables, which code refers to by where they are in it?
  bool has_local_variables(uint32_t section) const { return has_local_variables_[section]; }

private:
  struct Variable { // with a size, in the order of their places
    uint64_t begin, end;
    uint32_t symbol;
  };

  void sort_symbols();
  void find_functions();
  void find_entry(uint32_t number, const elf::Symbol& symbol);
  ProgramSymbols::Place place_of_function(uint32_t number);
  void find_folded(TwinFunction& function, const elf::Symbol& symbol) const;
  uint64_t resolve_defined(const elf::Symbol& symbol, Use use);
  uint64_t resolve_place(const elf::Section& section, uint64_t offset, Use use);
  uint64_t function(uint32_t number, Use use);
  uint64_t thunk(uint32_t number);
  uint64_t own(const elf::Symbol& symbol) {
    return own_or_poison(elf_.section(symbol.section), symbol.raw.st_value);
  }
  const elf::Symbol* function_at(uint32_t section, uint64_t offset) const;
  uint64_t outside(const elf::Symbol& symbol, Use use);
  std::optional<uint64_t> find_outside(const std::string& name, Use use);
  std::optional<uint64_t> find_in_program(const std::string& name);
  std::optional<uint64_t> find_in_libraries(const std::string& name);
  uint64_t variable(const elf::Symbol& symbol);
  uint64_t constant(const elf::Symbol& symbol);
  uint64_t string(const elf::Section& section, uint64_t offset);
  ProgramSymbols::Place place_of_variable(const elf::Symbol& symbol);
  enum class Labels : uint8_t { none, some, only };
  Labels labels_in(const elf::Symbol& symbol);
  Labels find_labels(const elf::Symbol& symbol);
  std::span<const Elf64_Rela> relocations_in(const elf::Symbol& symbol);
  void compare_constant(const elf::Symbol& symbol, const ProgramSymbols::Place& place);
  const Variable* variable_around(uint32_t section, uint64_t offset) const;
  uint64_t poison(uint64_t size, std::string why);
  uint64_t poison_of(const elf::Section& section);
  uint64_t refused_stub(std::string why);

  TwinObject& object_;
  const elf::File& elf_;
  TwinSurroundings to_;
  std::vector<uint64_t> places_;
  std::vector<std::vector<Variable>> variables_; // by section
  std::vector<bool> has_local_variables_;        // by section
  std::vector<uint64_t> section_poison_;         // by section; 0: none yet
  std::unordered_map<uint32_t, Labels> labels_;  // in a variable, by symbol
  // Functions by section, offset and symbol.
  std::vector<std::tuple<uint32_t, uint64_t, uint32_t>> code_;
  std::unordered_map<uint32_t, uint32_t> function_of_; // of a symbol, if the object speaks of it
  std::unordered_map<std::string_view, uint32_t> static_of_, region_of_;
  std::unordered_map<std::string_view, uint64_t> canonical_; // addresses of functions of other images
  std::unordered_map<uint32_t, uint64_t> replaced_;          // functions for which another image's is used
  std::vector<uint64_t> known_addresses_, known_calls_;      // by symbol
  std::vector<uint64_t> thunks_;                             // of functions, by index
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> strings_;
  std::unordered_map<uint32_t, std::vector<Elf64_Rela>> relocations_; // by section, sorted
};

} // namespace rdb::debug
