// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lays out an ELF64 relocatable file from its sections.
#pragma once

#include <elf.h>
#include <string>
#include <vector>

namespace rdb::link {

struct OutSection {
  std::string name;
  Elf64_Shdr header{}; // name, offset and size are filled in; size is kept for SHT_NOBITS
  std::string bytes;
};

// `sections[0]` is the null section. A table of section names is added behind the last one.
std::string write_object(std::vector<OutSection> sections);

} // namespace rdb::link
