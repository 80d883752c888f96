// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See elf_file.h.
#include "descriptors/elf_file.h"

#include <algorithm>
#include <cstring>

namespace rdb::elf {

namespace {

template <class T>
T load(std::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
std::vector<T> load_table(std::string_view bytes) {
  std::vector<T> table(bytes.size() / sizeof(T));
  bytes.copy(reinterpret_cast<char*>(table.data()), table.size() * sizeof(T));
  return table;
}

} // namespace

bool is_elf(std::string_view bytes) {
  return bytes.starts_with(ELFMAG);
}

std::string_view string_at(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) throw Error("a name lies outside of its string table");
  std::string_view rest = table.substr(offset);
  size_t end = rest.find('\0');
  if (end == std::string_view::npos) throw Error("a name has no end");
  return rest.substr(0, end);
}

File::File(std::string_view bytes) : bytes_(bytes) {
  if (!is_elf(bytes) || bytes.size() < sizeof header_) throw Error("not an ELF file");
  header_ = load<Elf64_Ehdr>(bytes, 0);
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
      header_.e_machine != EM_X86_64)
    throw Error("not an ELF file for x86-64");
  read_sections();
  read_segments();
  auto table = std::ranges::find_if(
      sections_, [](const Section& section) { return section.header.sh_type == SHT_SYMTAB; });
  if (table != sections_.end()) symbols_ = read_symbols(*table);
}

std::string_view File::range(uint64_t offset, uint64_t size, const char* what) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset)
    throw Error(std::string(what) + " lies outside of the file");
  return bytes_.substr(offset, size);
}

void File::read_sections() {
  if (header_.e_shoff == 0) return;
  if (header_.e_shentsize != sizeof(Elf64_Shdr)) throw Error("section headers of unknown size");
  auto first = load<Elf64_Shdr>(range(header_.e_shoff, sizeof(Elf64_Shdr), "the section table"), 0);
  uint64_t count = header_.e_shnum != 0 ? header_.e_shnum : first.sh_size;
  uint64_t names_index = header_.e_shstrndx != SHN_XINDEX ? header_.e_shstrndx : first.sh_link;
  if (count > bytes_.size() / sizeof(Elf64_Shdr)) throw Error("the section table lies outside of the file");
  auto headers =
      load_table<Elf64_Shdr>(range(header_.e_shoff, count * sizeof(Elf64_Shdr), "the section table"));
  for (uint32_t i = 0; i < headers.size(); ++i) {
    Section section{i, {}, headers[i], {}};
    // The first header's size may be a count of sections.
    if (i != 0 && headers[i].sh_type != SHT_NOBITS && headers[i].sh_type != SHT_NULL)
      section.bytes = range(headers[i].sh_offset, headers[i].sh_size, "a section");
    sections_.push_back(section);
  }
  if (names_index == SHN_UNDEF) return;
  if (names_index >= sections_.size()) throw Error("no such section for section names");
  std::string_view names = sections_[names_index].bytes;
  for (Section& section : sections_)
    if (section.index != 0) section.name = string_at(names, section.header.sh_name);
}

void File::read_segments() {
  if (header_.e_phoff == 0 || header_.e_phnum == 0) return;
  if (header_.e_phentsize != sizeof(Elf64_Phdr)) throw Error("program headers of unknown size");
  segments_ = load_table<Elf64_Phdr>(
      range(header_.e_phoff, uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr), "the segment table"));
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD) range(segment.p_offset, segment.p_filesz, "a segment");
}

const Section& File::section(uint32_t index) const {
  if (index >= sections_.size()) throw Error("no such section");
  return sections_[index];
}

const Section* File::find(std::string_view name) const {
  for (const Section& section : sections_)
    if (section.index != 0 && section.name == name) return &section;
  return nullptr;
}

std::vector<Symbol> File::read_symbols(const Section& table) const {
  std::string_view names = section(table.header.sh_link).bytes;
  std::vector<uint32_t> extended;
  for (const Section& other : sections_)
    if (other.header.sh_type == SHT_SYMTAB_SHNDX && other.header.sh_link == table.index)
      extended = load_table<uint32_t>(other.bytes);
  std::vector<Symbol> symbols;
  // Linkers let a name be the end of a longer one. But a million names of a megabyte each are no program.
  constexpr size_t kMostSharing = 64;
  size_t left = names.size() * kMostSharing;
  for (const Elf64_Sym& raw : load_table<Elf64_Sym>(table.bytes)) {
    Symbol symbol{static_cast<uint32_t>(symbols.size()), string_at(names, raw.st_name), raw, raw.st_shndx};
    if (raw.st_shndx == SHN_XINDEX) {
      if (symbol.index >= extended.size()) throw Error("a symbol has no section");
      symbol.section = extended[symbol.index];
    } else {
      symbol.reserved = raw.st_shndx >= SHN_LORESERVE;
    }
    if (symbol.name.size() > left) throw Error("the names of symbols overlap more than in any program");
    left -= symbol.name.size();
    if (symbol.in_section()) section(symbol.section);
    symbols.push_back(symbol);
  }
  return symbols;
}

std::vector<Symbol> File::dynamic_symbols() const {
  for (const Section& section : sections_)
    if (section.header.sh_type == SHT_DYNSYM) return read_symbols(section);
  return {};
}

std::vector<Elf64_Rela> File::relocations(const Section& rela) const {
  if (rela.header.sh_type != SHT_RELA) throw Error("not a relocation section");
  auto table = load_table<Elf64_Rela>(rela.bytes);
  for (const Elf64_Rela& entry : table)
    if (relocatable() && ELF64_R_SYM(entry.r_info) >= std::max<size_t>(symbols_.size(), 1))
      throw Error("a relocation names no symbol");
  return table;
}

std::vector<Elf64_Rela> File::relocations_of(uint32_t index) const {
  std::vector<Elf64_Rela> all;
  for (const Section& section : sections_) {
    if (section.header.sh_type != SHT_RELA || section.header.sh_info != index) continue;
    auto some = relocations(section);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<uint32_t> File::group_members(const Section& group) const {
  auto words = load_table<uint32_t>(group.bytes);
  if (words.empty()) throw Error("an empty section group");
  words.erase(words.begin());
  for (uint32_t member : words)
    section(member);
  return words;
}

std::string_view File::loaded_at(uint64_t address, uint64_t size) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    uint64_t offset = address - segment.p_vaddr;
    if (offset >= segment.p_filesz) continue;
    return bytes_.substr(segment.p_offset + offset, std::min(size, segment.p_filesz - offset));
  }
  return {};
}

} // namespace rdb::elf
