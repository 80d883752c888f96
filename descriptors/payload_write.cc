// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Appends a payload to an object. The original bytes stay where they are; behind them come section .rdb, its
// relocations, a new table of section names (the old one may also hold the symbols' names and must not
// change), and the section table.
#include "descriptors/payload.h"
#include "descriptors/payload_format.h"
#include "rdbtool/base/output_file.h"

#include <cstring>
#include <fstream>
#include <map>
#include <system_error>

namespace rdb::descriptors {

namespace {

void pad(std::string& bytes, size_t alignment) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_string(std::string& bytes, std::string_view text) {
  append(bytes, uint64_t{text.size()});
  bytes += text;
  pad(bytes, 8);
}

// Chooses the symbols that relocations of the payload refer to: the symbol table must stay as it is.
class Anchors {
public:
  explicit Anchors(const elf::File& object) : object_(object) {
    for (const elf::Section& section : object.sections())
      if (section.header.sh_type == SHT_GROUP)
        for (uint32_t member : object.group_members(section))
          grouped_[member] = true;
    for (const elf::Symbol& symbol : object.symbols()) {
      if (!symbol.in_section()) continue;
      auto [at, fresh] = best_.try_emplace(symbol.section, &symbol);
      if (!fresh && rank(symbol) > rank(*at->second)) at->second = &symbol;
    }
  }

  bool grouped(uint32_t section) const { return grouped_.contains(section); }

  const elf::Symbol& of_section(uint32_t section) const {
    auto found = best_.find(section);
    if (found == best_.end())
      throw elf::Error("no symbol stands for section '" + std::string(object_.section(section).name) + "'");
    return *found->second;
  }

  const elf::Symbol& named(const std::string& name) const {
    const elf::Symbol* found = nullptr;
    for (const elf::Symbol& symbol : object_.symbols()) {
      if (symbol.name != name || !symbol.defined()) continue;
      if (found != nullptr) throw elf::Error("symbol '" + name + "' is defined more than once");
      found = &symbol;
    }
    if (found == nullptr) throw elf::Error("symbol '" + name + "' is not defined in the object");
    return *found;
  }

private:
  // Outside of groups a symbol that nothing can override is best. Inside, one with a name of its own: `ld -r`
  // binds it to the copy that stays, where a local one would be an error in bfd's.
  int rank(const elf::Symbol& symbol) const {
    bool group = grouped(symbol.section);
    if (!symbol.global()) return group ? 0 : symbol.type() == STT_SECTION ? 4 : 3;
    if (symbol.binding() == STB_WEAK) return group ? 3 : 0;
    return group ? 4 : 2;
  }

  const elf::File& object_;
  std::map<uint32_t, bool> grouped_;
  std::map<uint32_t, const elf::Symbol*> best_;
};

// The record and its relocations, offsets relative to the record.
struct Record {
  std::string bytes;
  std::vector<Elf64_Rela> relocations;
};

Record make_record(const elf::File& object, const Payload& payload) {
  Anchors anchors(object);
  Record record;
  PayloadHeader header{};
  std::memcpy(header.magic, kPayloadMagic, sizeof header.magic);
  header.addresses = payload.addresses.size();
  header.sources = payload.sources.size();
  append(record.bytes, header);
  for (const AddressEntry& entry : payload.addresses) {
    bool by_section = entry.kind == AddressEntry::Kind::section;
    const elf::Symbol& anchor = by_section ? anchors.of_section(entry.section) : anchors.named(entry.symbol);
    AddressSlot slot{};
    if (entry.kind == AddressEntry::Kind::tls) slot.flags |= kAddressTls;
    if (anchor.in_section() && anchors.grouped(anchor.section)) {
      slot.flags |= kAddressGroup;
      slot.section_size = object.section(anchor.section).header.sh_size;
      slot.section_hash = content_hash(object.section(anchor.section).bytes);
    }
    int64_t addend = entry.addend;
    if (by_section) addend -= static_cast<int64_t>(anchor.raw.st_value);
    record.relocations.push_back({record.bytes.size(), ELF64_R_INFO(anchor.index, R_X86_64_64), addend});
    append(record.bytes, slot);
  }
  append_string(record.bytes, payload.unit);
  append_string(record.bytes, payload.descriptors);
  append_string(record.bytes, payload.debug_object);
  append_string(record.bytes, payload.twin_object);
  for (const SourceText& source : payload.sources) {
    append(record.bytes, uint64_t{source.id});
    append_string(record.bytes, source.text);
  }
  uint64_t size = record.bytes.size();
  std::memcpy(record.bytes.data() + offsetof(PayloadHeader, size), &size, sizeof size);
  return record;
}

uint32_t symbol_table(const elf::File& object) {
  for (const elf::Section& section : object.sections())
    if (section.header.sh_type == SHT_SYMTAB) return section.index;
  throw elf::Error("the object has no symbol table");
}

// Section headers of the object plus ours, with names from a new table.
class Appender {
public:
  explicit Appender(const elf::File& object) : bytes_(object.bytes()), names_(1, '\0') {
    header_ = object.header();
    // The old table is of no more use; where it ends the file, as clang writes it, it leaves no gap.
    if (header_.e_shoff + object.sections().size() * sizeof(Elf64_Shdr) == bytes_.size())
      bytes_.resize(header_.e_shoff);
    for (const elf::Section& section : object.sections()) {
      sections_.push_back(section.header);
      if (section.index != 0) sections_.back().sh_name = name(section.name);
    }
  }

  uint32_t add(std::string_view section_name, std::string_view content, Elf64_Shdr section) {
    pad(bytes_, 8);
    section.sh_name = name(section_name);
    section.sh_offset = bytes_.size();
    section.sh_size = content.size();
    section.sh_flags |= SHF_EXCLUDE;
    section.sh_addralign = 8;
    bytes_ += content;
    sections_.push_back(section);
    return static_cast<uint32_t>(sections_.size() - 1);
  }

  std::string finish() {
    Elf64_Shdr table{};
    table.sh_type = SHT_STRTAB;
    uint32_t own_name = name(".rdb.names");
    uint32_t names_index = add(".rdb.names", "", table);
    sections_[names_index].sh_name = own_name;
    sections_[names_index].sh_size = names_.size();
    bytes_ += names_;
    pad(bytes_, 8);
    header_.e_shoff = bytes_.size();
    bool many = sections_.size() >= SHN_LORESERVE;
    header_.e_shnum = many ? 0 : static_cast<uint16_t>(sections_.size());
    sections_[0].sh_size = many ? sections_.size() : 0;
    header_.e_shstrndx = many ? static_cast<uint16_t>(SHN_XINDEX) : static_cast<uint16_t>(names_index);
    sections_[0].sh_link = many ? names_index : 0;
    for (const Elf64_Shdr& section : sections_)
      append(bytes_, section);
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    return std::move(bytes_);
  }

private:
  uint32_t name(std::string_view text) {
    auto [at, fresh] = offsets_.try_emplace(std::string(text), static_cast<uint32_t>(names_.size()));
    if (fresh) names_.append(text).push_back('\0');
    return at->second;
  }

  std::string bytes_;
  std::string names_;
  std::map<std::string, uint32_t> offsets_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
};

} // namespace

std::string with_payload(std::string_view object, const Payload& payload) {
  elf::File file(object);
  if (!file.relocatable()) throw elf::Error("not a relocatable file");
  if (has_payload(file)) throw elf::Error("the object has a payload already");
  Record record = make_record(file, payload);
  Appender appender(file);
  Elf64_Shdr data{};
  data.sh_type = SHT_PROGBITS;
  uint32_t index = appender.add(".rdb", record.bytes, data);
  Elf64_Shdr rela{};
  rela.sh_type = SHT_RELA;
  rela.sh_flags = SHF_INFO_LINK;
  rela.sh_entsize = sizeof(Elf64_Rela);
  rela.sh_link = symbol_table(file);
  rela.sh_info = index;
  std::string relocations;
  for (const Elf64_Rela& relocation : record.relocations)
    append(relocations, relocation);
  appender.add(".rdb.rela", relocations, rela);
  return appender.finish();
}

void append_payload(const std::string& object_path, const Payload& payload) {
  std::ifstream in(object_path, std::ios::binary);
  std::string object((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) throw elf::Error("cannot read '" + object_path + "'");
  try {
    write_output(object_path, with_payload(object, payload), 0777);
  } catch (const std::system_error& error) {
    throw elf::Error(error.what());
  }
}

} // namespace rdb::descriptors
