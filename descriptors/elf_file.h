// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads ELF64 x86-64 files from memory: sections, symbols, relocations, segments. Files come from outside, so
// every offset is checked once, here, and nothing else of rdb needs to.
#pragma once

#include <cstdint>
#include <elf.h>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::elf {

// Not an ELF64 x86-64 file, or one that contradicts itself.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Section {
  uint32_t index;
  std::string_view name;
  Elf64_Shdr header;
  std::string_view bytes; // empty for SHT_NOBITS

  bool allocated() const { return (header.sh_flags & SHF_ALLOC) != 0; }
};

struct Symbol {
  uint32_t index;
  std::string_view name;
  Elf64_Sym raw;
  uint32_t section; // index, with SHN_XINDEX resolved; SHN_UNDEF, SHN_ABS, SHN_COMMON as they are

  unsigned type() const { return ELF64_ST_TYPE(raw.st_info); }
  unsigned binding() const { return ELF64_ST_BIND(raw.st_info); }
  unsigned visibility() const { return ELF64_ST_VISIBILITY(raw.st_other); }
  bool global() const { return binding() != STB_LOCAL; }
  // In a section of the file (large section numbers do not clash with the reserved ones: see `reserved`).
  bool in_section() const { return section != SHN_UNDEF && !reserved; }
  bool reserved = false; // `section` is one of the reserved indexes
  bool defined() const { return section != SHN_UNDEF; }
};

bool is_elf(std::string_view bytes);

class File {
public:
  // The bytes must outlive the file.
  explicit File(std::string_view bytes);

  const Elf64_Ehdr& header() const { return header_; }
  std::string_view bytes() const { return bytes_; }
  bool relocatable() const { return header_.e_type == ET_REL; }

  const std::vector<Section>& sections() const { return sections_; }
  const Section& section(uint32_t index) const;
  const Section* find(std::string_view name) const; // the first of that name
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }

  // The static symbol table, if there is one; index 0 is the null symbol.
  const std::vector<Symbol>& symbols() const { return symbols_; }
  std::vector<Symbol> dynamic_symbols() const;

  // The entries of an SHT_RELA section, and those that apply to a section.
  std::vector<Elf64_Rela> relocations(const Section& rela) const;
  std::vector<Elf64_Rela> relocations_of(uint32_t section) const;

  // Members of an SHT_GROUP section, without the flag word.
  std::vector<uint32_t> group_members(const Section& group) const;

  // Bytes of the file that are loaded at an address; fewer than `size` if the file has fewer there.
  std::string_view loaded_at(uint64_t address, uint64_t size) const;

private:
  std::string_view range(uint64_t offset, uint64_t size, const char* what) const;
  void read_sections();
  void read_segments();
  std::vector<Symbol> read_symbols(const Section& table) const;

  std::string_view bytes_;
  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Symbol> symbols_;
};

// The string at an offset of a string table; throws if it does not end.
std::string_view string_at(std::string_view table, uint64_t offset);

} // namespace rdb::elf
