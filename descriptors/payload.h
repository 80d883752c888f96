// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rdb-clang adds to an object file beside the program's code: descriptors, the debug object, the twin
// object, stripped sources. They travel in sections that linkers leave out of their output (SHF_EXCLUDE), so
// that `ar`, `ld -r` and parallel builds carry them and programs never contain them. Addresses are
// relocations, so whoever moves the code keeps them right.
#pragma once

#include "descriptors/elf_file.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::descriptors {

// What @K of the descriptor text means: entry K of the object's address table.
struct AddressEntry {
  enum class Kind {
    section, // `section` of this object (index in its section header table) + addend
    symbol,  // a symbol that this object defines + addend
    tls,     // offset in the TLS block of a thread-local symbol that this object defines + addend
  };
  Kind kind = Kind::section;
  uint32_t section = 0;
  std::string symbol;
  int64_t addend = 0;
};

// A stripped source; `id` is that of the descriptors' source record.
struct SourceText {
  uint32_t id = 0;
  std::string text;
};

struct Payload {
  std::string unit;        // key of the unit, unique in a program: [A-Za-z0-9_]+
  std::string descriptors; // text, addresses written @K
  std::vector<AddressEntry> addresses;
  std::string debug_object; // ELF relocatable; undefined symbols are slots __rdb_slot_<symbol>
  std::string twin_object;  // ELF relocatable: the unit once more, to be run beside the program; may be empty
  std::vector<SourceText> sources;
};

// Names of everything that is appended begin so.
inline constexpr std::string_view kSectionPrefix = ".rdb";

// The object with the payload appended: every section, symbol and relocation of `object` keeps its index and
// content. Throws elf::Error if `object` is not an ELF64 x86-64 relocatable file or an entry names something
// that it does not have.
std::string with_payload(std::string_view object, const Payload& payload);

// with_payload on a file, replaced atomically.
void append_payload(const std::string& object_path, const Payload& payload);

// Where an entry of the address table points in an object that may have been through `ld -r`.
struct Target {
  enum class Kind {
    discarded, // the code is gone: a losing copy of a COMDAT function
    section,   // `section` + `offset`
    symbol, // `symbol` (index in the symbol table) + `offset`: a common symbol has no section yet, and only
            // through their symbols do linkers tell where thread-local variables are
  };
  Kind kind = Kind::discarded;
  bool tls = false;
  uint32_t section = 0;
  uint32_t symbol = 0;
  int64_t offset = 0;
};

struct CarriedPayload {
  Payload payload; // `addresses` is empty
  std::vector<Target> targets;
};

bool has_payload(const elf::File& object);

// All payloads of an object: one per compiled unit. Throws elf::Error on damage.
std::vector<CarriedPayload> read_payloads(const elf::File& object);

} // namespace rdb::descriptors
