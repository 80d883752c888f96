// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See missing.h.
#include "llvm-passes/link/missing.h"

namespace rdb::link {

std::set<std::string, std::less<>> users_of(const elf::File& debug_object, std::string_view slot) {
  std::set<std::string, std::less<>> users;
  for (const elf::Section& section : debug_object.sections()) {
    if (section.header.sh_type != SHT_RELA || !debug_object.section(section.header.sh_info).allocated())
      continue;
    for (const Elf64_Rela& relocation : debug_object.relocations(section)) {
      if (debug_object.symbols()[ELF64_R_SYM(relocation.r_info)].name != slot) continue;
      std::string user; // data that points to the slot has none
      for (const elf::Symbol& symbol : debug_object.symbols())
        if (symbol.type() == STT_FUNC && symbol.in_section() && symbol.section == section.header.sh_info &&
            relocation.r_offset >= symbol.raw.st_value &&
            relocation.r_offset - symbol.raw.st_value < symbol.raw.st_size)
          user = symbol.name;
      users.insert(user);
    }
  }
  return users;
}

void withdraw_regions(descriptors::Descriptors& descriptors,
                      const std::set<std::string, std::less<>>& functions, const std::string& reason) {
  std::set<uint32_t> withdrawn;
  for (descriptors::Region& region : descriptors.regions) {
    if (!functions.contains(region.function)) continue;
    withdrawn.insert(region.id);
    if (region.status != descriptors::Status::complete && region.status != descriptors::Status::incomplete)
      continue;
    region.status = descriptors::Status::lost;
    region.reason = reason;
  }
  std::erase_if(descriptors.locations,
                [&](const auto& location) { return withdrawn.contains(location.region); });
  std::erase_if(descriptors.arguments,
                [&](const auto& argument) { return withdrawn.contains(argument.region); });
}

} // namespace rdb::link
