// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts the sections of a twin object into memory and applies their relocations. Which address a name has is
// decided by TwinSymbols; here is how it gets into the code.
#pragma once

#include "rdbtool/debug/twins/twin_symbols.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rdb::debug {

class TwinLoader {
public:
  TwinLoader(TwinObject& object, const TwinSurroundings& surroundings);
  // Throws elf::Error if the object contradicts itself, Limit if it needs what rdb does not do.
  void run();

private:
  using Use = TwinSymbols::Use;
  // Something to be changed, and by what.
  struct Site {
    const elf::Section& section;
    const elf::Symbol& symbol;
    uint64_t offset; // in the section
    uint64_t place;
    uint64_t addend;
    uint32_t type;
  };

  std::vector<uint64_t> place_sections();
  void relocate(const elf::Section& table);
  void apply(const Site& site);
  void apply_thread_local(const Site& site);
  uint64_t value_of(const Site& site, Use use);
  uint64_t relative_value_of(const Site& site, Use use);
  void put32(const Site& site, uint64_t value, bool is_signed);
  void put_relative(const Site& site, uint64_t target);
  static void put64(const Site& site, uint64_t value);
  void call(const Site& site);
  void load_address(const Site& site);
  bool is_indirect_call(const Site& site) const;
  uint64_t word(std::unordered_map<uint64_t, uint64_t>& words, uint64_t content);
  uint64_t jump_to(uint64_t target);
  uint64_t end_of_instruction(const elf::Section& section, uint64_t offset);
  void refuse(const Site& site, const std::string& why);
  void stop_refused_functions();
  void make_frames();

  TwinObject& object_;
  const elf::File& elf_;
  TwinSurroundings to_;
  std::vector<uint64_t> places_;
  TwinSymbols symbols_;
  std::unordered_map<uint64_t, uint64_t> words_;             // of addresses that are loaded, by address
  std::unordered_map<uint64_t, uint64_t> jumps_;             // to functions that are far away
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> blocks_; // of thread-local variables
  std::unordered_map<uint64_t, std::vector<uint64_t>>
      ends_; // of instructions, by where they begin to be read
};

} // namespace rdb::debug
