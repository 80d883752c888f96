// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A unit of the program once more, as its source says it, brought into the recorded process: code that works
// on the program's own variables and calls the program's own functions, and in which each region is a call
// that rdb answers. It is what a linker does with an object file, but for one thing: most of what the object
// defines exists already. Its data is the program's; the address of a function is the program's, since
// programs compare and keep them; what is called depends on what is asked (set_callee).
//
// What the program does not have is poison: whoever runs the twin is stopped at it and told why
// (TwinMemory::why_refused). So a function whose twin does not get there is not concerned.
#pragma once

#include "descriptors/elf_file.h"
#include "rdbtool/debug/twins/loaded_images.h"
#include "rdbtool/debug/twins/program_symbols.h"
#include "rdbtool/debug/twins/twin_facts.h"
#include "rdbtool/debug/twins/twin_memory.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::debug {

// What loading a twin needs to be done by others.
class TwinWorld {
public:
  virtual ~TwinWorld() = default;
  // Which function an indirect function is; none if that cannot be found out.
  virtual std::optional<uint64_t> run_resolver(uint64_t resolver) = 0;
  // What no image has, but another unit's twin.
  virtual std::optional<uint64_t> find_in_other_twin(std::string_view /*name*/) { return std::nullopt; }
};

// Where a twin is loaded.
struct TwinSurroundings {
  LoadedImages& images;
  size_t image;            // the one that the unit is a part of
  ProgramSymbols& program; // of that image
  TwinMemory& memory;
  TwinWorld& world;

  uint64_t bias() const { return images.images()[image].bias; }
};

// A function of the unit. They have the same indices as TwinFacts::functions.
struct TwinFunction {
  uint64_t code = 0; // the twin
  uint64_t size = 0;
  uint64_t entry = 0;       // the recorded one; 0: there is none
  uint64_t entry_size = 0;  // 0: not known
  bool is_indirect = false; // the entry is that of the function which it turned out to be
  std::string why_no_entry;
  // Other functions that begin at the entry, though the source does not say so: calls of those look the same.
  std::vector<std::string> folded_with;
  std::string refused; // why its twin cannot be run; empty: it can
};

class TwinObject {
public:
  // Reads what the object says of itself. Throws UserError that names the object. `name` is shown to users.
  TwinObject(std::string name, std::string bytes);
  ~TwinObject();
  TwinObject(const TwinObject&) = delete;
  TwinObject& operator=(const TwinObject&) = delete;

  const std::string& name() const { return name_; }
  const TwinFacts& facts() const { return facts_; }

  // Brings it into memory. Throws UserError or Limit.
  void load(const TwinSurroundings& surroundings);

  // From here on: once it is loaded.
  const std::vector<TwinFunction>& functions() const { return functions_; }
  // The function whose twin has this address; none if it is not code of this object.
  std::optional<uint32_t> function_around(uint64_t address) const;
  // Direct calls of a function that has an entry lead there, until this is called.
  enum class Callee : uint8_t { program, twin };
  void set_callee(uint32_t function, Callee callee);
  bool can_set_callee(uint32_t function) const { return slots_[function] != 0; }

  guest::AddressRange memory() const { return memory_; }
  // For the program's unwinder: all twins' code and the table of frames; 0 if the object has none.
  struct Frames {
    guest::AddressRange code;
    uint64_t header = 0; // an .eh_frame_hdr with a sorted table
    uint64_t frames = 0;
  };
  const Frames& frames() const { return frames_; }

  // Functions of other units and of libraries that it calls by name.
  struct OutsideCall {
    std::string name;
    uint64_t address;
  };
  const std::vector<OutsideCall>& outside_calls() const { return outside_calls_; }

  // Names that neither the program nor its libraries have.
  const std::vector<std::string>& missing() const { return missing_; }
  // Constants that have another content in the program: it was made from another source.
  const std::vector<std::string>& other_constants() const { return other_constants_; }

private:
  friend class TwinSymbols;
  friend class TwinLoader;

  std::string name_;
  std::string bytes_;
  std::optional<elf::File> elf_;
  TwinFacts facts_;
  std::vector<TwinFunction> functions_;
  std::vector<uint64_t> slots_; // by function: the word through which it is called; 0: there is none
  std::vector<std::pair<uint64_t, uint32_t>> by_code_;
  guest::AddressRange memory_;
  Frames frames_;
  std::vector<OutsideCall> outside_calls_;
  std::vector<std::string> missing_, other_constants_;
};

} // namespace rdb::debug
