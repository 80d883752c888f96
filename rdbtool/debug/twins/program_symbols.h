// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the recorded program has of what its source says. A function of the source may be there under its
// name, as copies that the compiler made for some callers, or not at all, since it was inlined everywhere; a
// local name may be there several times. A wrong match would show wrong values, so whatever can be two things
// is none: names are matched with the unit that they are local to, by debug information where names do not
// do, and the answer otherwise is the reason.
//
// All addresses are as linked.
#pragma once

#include "rdbtool/debug/regions/program_file.h"
#include "rdbtool/debug/twins/name_index.h"
#include "rdbtool/debug/twins/read_only_data.h"
#include "rdbtool/debug/twins/twin_facts.h"
#include "rdbtool/debug/twins/unit_debug_info.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::debug {

class ProgramSymbols {
public:
  // The file must outlive it; debug information is read from `path`.
  ProgramSymbols(const ProgramFile& file, const std::string& path);

  const ProgramFile& file() const { return file_; }
  ReadOnlyData& read_only() { return read_only_; }
  ProgramDebugInfo& debug_info();

  // A function or variable of the source in the program, or why it is not there.
  struct Place {
    enum class Kind : uint8_t {
      none,
      function,
      indirect, // the address is that of a function that says which function it is
      data,
      thread_local_data, // the address is the offset in the thread's block
    };
    Kind kind = Kind::none;
    uint64_t address = 0;
    uint64_t size = 0; // 0: not known
    std::string why;   // if there is none
    explicit operator bool() const { return kind != Kind::none; }
  };
  Place function(const TwinFacts::Unit& unit, const TwinFacts::Function& function);
  // `statics` are all of the unit: a name that several of them have says nothing.
  Place static_variable(const TwinFacts& facts, const TwinFacts::Static& variable);
  // What other units can name, too: a function or a variable.
  Place global(std::string_view name) const;

  // The names of functions that begin at this address, of which more than one is there if functions with the
  // same code were folded, or if the source says so.
  std::vector<std::string_view> functions_at(uint64_t address) const;
  // The function that has this address, of those that the symbol table says the size of.
  struct Function {
    std::string_view name;
    uint64_t address = 0;
    uint64_t size = 0;
  };
  std::optional<Function> function_around(uint64_t address) const;
  // Pieces of a function that compilers put elsewhere or copies that they make (.cold, .part.0, .isra.0).
  // They are no entries. Of the same unit as the function at `address`; of any unit if there is none (0).
  std::vector<Function> pieces(std::string_view name, uint64_t address) const;

  // Functions that were inlined into others of the unit; null without debug information.
  const UnitDebugInfo* debug_info_of(const TwinFacts::Unit& unit) {
    return debug_info().unit(unit.source, unit.directory);
  }

private:
  // Symbols of both tables, the dynamic ones behind the others.
  struct Entry {
    elf::Symbol symbol;
    uint32_t source; // the number of the file name in front of it; 0: none
    bool is_local;   // in the source: linkers make hidden symbols local, too
  };
  using Candidates = std::vector<const Entry*>;
  static uint64_t value_of(const Entry* entry) { return entry->symbol.raw.st_value; }

  void add(const std::vector<elf::Symbol>& symbols);
  void sort_by_address();
  template <class Wanted>
  Candidates local_candidates(const NameIndex& index, std::string_view name, const std::string& source,
                              Wanted&& wanted, bool& is_certain) const;
  Place place_of(const Entry& entry) const;
  Place choose(const Candidates& candidates, std::string_view name) const;
  std::optional<Place> static_by_debug_info(const TwinFacts& facts, const TwinFacts::Static& variable);
  Place static_by_name(const TwinFacts& facts, const TwinFacts::Static& variable) const;

  const ProgramFile& file_;
  std::string path_;
  ReadOnlyData read_only_;
  std::unique_ptr<ProgramDebugInfo> debug_info_;
  std::vector<Entry> entries_;
  NameIndex by_name_;
  NameIndex by_whole_;                    // copies and pieces, by the name of their function
  NameIndex by_plain_name_;               // local ones without what compilers append
  std::vector<std::string_view> sources_; // of local symbols, without their folders, from 1
  NameIndex by_source_;
  std::vector<const Entry*> functions_, variables_; // by address
};

// A symbol's name without what compilers append to tell copies apart: "x.12", "f.llvm.123", "f.lto_priv.0".
std::string_view plain_name(std::string_view name);
// Do these differ in nothing but the kind of a constructor or destructor (C1 and C2, D1 and D2)?
bool are_same_constructor(std::string_view a, std::string_view b);

} // namespace rdb::debug
