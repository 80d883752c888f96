// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See object_writer.h.
#include "llvm-passes/link/object_writer.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace rdb::link {

std::string write_object(std::vector<OutSection> sections) {
  OutSection names{".shstrtab", {}, std::string(1, '\0')};
  names.header.sh_type = SHT_STRTAB;
  names.header.sh_addralign = 1;
  sections.push_back(std::move(names));
  std::string& table = sections.back().bytes;
  std::unordered_map<std::string, uint32_t> offsets;
  for (size_t i = 1; i < sections.size(); ++i) {
    auto [at, fresh] = offsets.try_emplace(sections[i].name, static_cast<uint32_t>(table.size()));
    if (fresh) table.append(sections[i].name).push_back('\0');
    sections[i].header.sh_name = at->second;
  }

  std::string out(sizeof(Elf64_Ehdr), '\0');
  for (size_t i = 1; i < sections.size(); ++i) {
    Elf64_Shdr& header = sections[i].header;
    size_t alignment = std::max<size_t>(header.sh_addralign, 1);
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    header.sh_offset = out.size();
    if (header.sh_type == SHT_NOBITS) continue;
    header.sh_size = sections[i].bytes.size();
    out += sections[i].bytes;
  }
  out.resize((out.size() + 7) / 8 * 8);

  Elf64_Ehdr file{};
  std::memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_ident[EI_DATA] = ELFDATA2LSB;
  file.e_ident[EI_VERSION] = EV_CURRENT;
  file.e_type = ET_REL;
  file.e_machine = EM_X86_64;
  file.e_version = EV_CURRENT;
  file.e_ehsize = sizeof file;
  file.e_shentsize = sizeof(Elf64_Shdr);
  file.e_shoff = out.size();
  bool many = sections.size() >= SHN_LORESERVE;
  size_t last = sections.size() - 1;
  file.e_shnum = many ? 0 : static_cast<uint16_t>(sections.size());
  file.e_shstrndx = static_cast<uint16_t>(many ? size_t{SHN_XINDEX} : last);
  sections[0].header = {};
  sections[0].header.sh_size = many ? sections.size() : 0;
  sections[0].header.sh_link = many ? static_cast<uint32_t>(last) : 0;
  for (const OutSection& section : sections)
    out.append(reinterpret_cast<const char*>(&section.header), sizeof section.header);
  std::memcpy(out.data(), &file, sizeof file);
  return out;
}

} // namespace rdb::link
