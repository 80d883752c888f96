// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See scratch_object.h. Section symbols are inserted where the object has none: a function's own symbol may
// be overridden by another object's, the section's cannot. Inserted behind the last local symbol, they shift
// the numbers of the global ones everywhere.
#include "llvm-passes/link/scratch_object.h"

#include "llvm-passes/link/object_writer.h"

#include <cstring>

namespace rdb::link {

namespace {

constexpr uint64_t kChunkMagic = 0x314b4e4843424452;  // "RDBCHNK1"
constexpr uint32_t kAddressSignificance = 0x6fff4c03; // SHT_LLVM_ADDRSIG

struct ChunkHeader {
  uint64_t magic;
  uint64_t questions;
  uint64_t guard; // relocated: the section's address
};
struct ChunkEntry {
  uint64_t id;
  uint64_t value; // relocated
};

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

class Copier {
public:
  explicit Copier(const elf::File& object) : object_(object) {
    for (const elf::Section& section : object.sections()) {
      sections_.push_back({std::string(section.name), section.header, std::string(section.bytes)});
      if (section.header.sh_type == SHT_SYMTAB) symtab_ = section.index;
      if (section.header.sh_type == SHT_SYMTAB_SHNDX) extended_ = section.index;
      if (section.header.sh_type == SHT_GROUP)
        for (uint32_t member : object.group_members(section))
          group_of_[member] = section.index;
    }
    if (symtab_ == 0) throw elf::Error("an object without a symbol table");
    first_global_ = sections_[symtab_].header.sh_info;
    for (const elf::Symbol& symbol : object.symbols())
      if (symbol.type() == STT_SECTION && symbol.in_section())
        section_symbol_.emplace(symbol.section, symbol.index);
  }

  std::string copy(const std::vector<Question>& questions) {
    std::map<uint32_t, std::vector<Question>> by_section;
    std::vector<Question> by_symbol, presence;
    for (const Question& question : questions) {
      if (question.target.kind == descriptors::Target::Kind::section)
        by_section[question.target.section].push_back(question);
      else if (question.target.kind == descriptors::Target::Kind::symbol)
        by_symbol.push_back(question);
      else
        presence.push_back(question);
    }
    for (const auto& [section, some] : by_section)
      need_section_symbol(section);
    renumber();
    for (const auto& [section, some] : by_section)
      add_chunk(some, section_symbol_.at(section), R_X86_64_64, group_of_[section]);
    for (const Question& question : by_symbol) {
      const elf::Symbol& symbol = object_.symbols()[question.target.symbol];
      uint32_t group = symbol.in_section() ? group_of_[symbol.section] : 0;
      add_chunk({question}, shifted(symbol.index), question.target.tls ? R_X86_64_DTPOFF64 : R_X86_64_64,
                group);
    }
    if (!presence.empty()) add_presence(presence);
    return write_object(std::move(sections_));
  }

private:
  void need_section_symbol(uint32_t section) {
    auto [at, fresh] =
        section_symbol_.try_emplace(section, first_global_ + static_cast<uint32_t>(inserted_.size()));
    if (fresh) inserted_.push_back(section);
  }

  uint32_t shifted(uint32_t symbol) const {
    return symbol < first_global_ ? symbol : symbol + static_cast<uint32_t>(inserted_.size());
  }

  void renumber() {
    if (inserted_.empty()) return;
    std::string symbols, extended;
    for (uint32_t section : inserted_) {
      Elf64_Sym symbol{};
      symbol.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
      bool large = section >= SHN_LORESERVE;
      if (large && extended_ == 0) throw elf::Error("an object with more sections than it can number");
      symbol.st_shndx = static_cast<uint16_t>(large ? SHN_XINDEX : section);
      append(symbols, symbol);
      append(extended, large ? section : uint32_t{0});
    }
    sections_[symtab_].bytes.insert(first_global_ * sizeof(Elf64_Sym), symbols);
    sections_[symtab_].header.sh_info += static_cast<uint32_t>(inserted_.size());
    if (extended_ != 0) sections_[extended_].bytes.insert(first_global_ * sizeof(uint32_t), extended);
    for (OutSection& section : sections_) {
      if (section.header.sh_type == SHT_RELA) renumber_relocations(section.bytes);
      if (section.header.sh_type == SHT_GROUP) section.header.sh_info = shifted(section.header.sh_info);
      if (section.header.sh_type == kAddressSignificance) section.bytes = renumber_uleb(section.bytes);
    }
  }

  void renumber_relocations(std::string& bytes) const {
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation;
      std::memcpy(&relocation, bytes.data() + at, sizeof relocation);
      uint32_t symbol = shifted(static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info)));
      relocation.r_info = ELF64_R_INFO(symbol, ELF64_R_TYPE(relocation.r_info));
      std::memcpy(bytes.data() + at, &relocation, sizeof relocation);
    }
  }

  // The table of symbols whose address matters (for --icf=safe) is a list of numbers in ULEB128.
  std::string renumber_uleb(const std::string& bytes) const {
    std::string result;
    uint32_t value = 0;
    unsigned shift = 0;
    for (char c : bytes) {
      value |= static_cast<uint32_t>(c & 0x7f) << shift;
      shift += 7;
      if ((c & 0x80) != 0 && shift < 28) continue;
      for (uint32_t rest = shifted(value);;) {
        char low = static_cast<char>(rest & 0x7f);
        rest >>= 7;
        result += static_cast<char>(rest != 0 ? low | 0x80 : low);
        if (rest == 0) break;
      }
      value = 0;
      shift = 0;
    }
    return result;
  }

  void add_chunk(const std::vector<Question>& questions, uint32_t symbol, uint32_t type, uint32_t group) {
    OutSection chunk{std::string(kQuestionSection), {}, {}};
    OutSection rela{".rela" + std::string(kQuestionSection), {}, {}};
    // An offset in the TLS block may be zero, so there zero says nothing: the reader checks it against the
    // symbol table.
    bool guarded = type == R_X86_64_64;
    append(chunk.bytes, ChunkHeader{kChunkMagic, questions.size(), guarded ? 0u : 1u});
    auto ask = [&](uint64_t offset, int64_t addend) {
      append(rela.bytes, Elf64_Rela{offset, ELF64_R_INFO(symbol, type), addend});
    };
    if (guarded) ask(offsetof(ChunkHeader, guard), 0);
    for (const Question& question : questions) {
      ask(chunk.bytes.size() + offsetof(ChunkEntry, value), question.target.offset);
      append(chunk.bytes, ChunkEntry{question.id, 0});
    }
    uint32_t index = static_cast<uint32_t>(sections_.size());
    chunk.header.sh_type = SHT_PROGBITS;
    chunk.header.sh_addralign = 8;
    rela.header.sh_type = SHT_RELA;
    rela.header.sh_flags = SHF_INFO_LINK;
    rela.header.sh_addralign = 8;
    rela.header.sh_entsize = sizeof(Elf64_Rela);
    rela.header.sh_link = symtab_;
    rela.header.sh_info = index;
    if (group != 0) {
      chunk.header.sh_flags |= SHF_GROUP;
      rela.header.sh_flags |= SHF_GROUP;
      append(sections_[group].bytes, index);
      append(sections_[group].bytes, index + 1);
    }
    sections_.push_back(std::move(chunk));
    sections_.push_back(std::move(rela));
  }

  // A chunk that depends on nothing: it is there if the object is.
  void add_presence(const std::vector<Question>& questions) {
    OutSection chunk{std::string(kQuestionSection), {}, {}};
    append(chunk.bytes, ChunkHeader{kChunkMagic, questions.size(), 1});
    for (const Question& question : questions)
      append(chunk.bytes, ChunkEntry{question.id, 1});
    chunk.header.sh_type = SHT_PROGBITS;
    chunk.header.sh_addralign = 8;
    sections_.push_back(std::move(chunk));
  }

  const elf::File& object_;
  std::vector<OutSection> sections_;
  uint32_t symtab_ = 0, extended_ = 0, first_global_ = 0;
  std::map<uint32_t, uint32_t> group_of_;       // section -> its group
  std::map<uint32_t, uint32_t> section_symbol_; // section -> number of its section symbol
  std::vector<uint32_t> inserted_;              // sections that get one
};

} // namespace

std::string with_questions(const elf::File& object, const std::vector<Question>& questions) {
  return Copier(object).copy(questions);
}

std::multimap<uint64_t, uint64_t> read_answers(const elf::File& linked) {
  std::multimap<uint64_t, uint64_t> answers;
  for (const elf::Section& section : linked.sections()) {
    if (section.name != kQuestionSection) continue;
    std::string_view rest = section.bytes;
    while (rest.size() >= sizeof(ChunkHeader)) {
      ChunkHeader header;
      std::memcpy(&header, rest.data(), sizeof header);
      if (header.magic == 0) { // padding
        rest.remove_prefix(8);
        continue;
      }
      rest.remove_prefix(sizeof header);
      if (header.magic != kChunkMagic || header.questions > rest.size() / sizeof(ChunkEntry))
        throw elf::Error("the linker changed section .debug_rdb");
      for (uint64_t i = 0; i < header.questions; ++i) {
        ChunkEntry entry;
        std::memcpy(&entry, rest.data(), sizeof entry);
        rest.remove_prefix(sizeof entry);
        if (header.guard != 0) answers.emplace(entry.id, entry.value);
      }
    }
  }
  return answers;
}

} // namespace rdb::link
