// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the sections of an object lie in a program that was linked before, when only the program is at hand:
// by the symbols that both have, and only if the bytes agree. A linker moves a section as a whole, so one
// known address in it gives all.
#pragma once

#include "descriptors/elf_file.h"
#include "llvm-passes/link/inputs.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rdb::link {

class Placement {
public:
  // The program must outlive it.
  explicit Placement(const elf::File& program);

  // The address of a section of an object in the program; nothing if it is not there as it is in the object.
  std::optional<uint64_t> section(const elf::File& object, uint32_t index) const;

  // The answers to the questions of these objects (scratch_object.h). Questions about what is not in the
  // program are missing.
  std::multimap<uint64_t, uint64_t> answers(const std::vector<InputObject>& objects) const;

  // Definitions of the program by name.
  const std::vector<elf::Symbol>* find(std::string_view name) const;

private:
  const elf::File& program_;
  std::map<std::string_view, std::vector<elf::Symbol>, std::less<>> symbols_;
};

// Whether a section of an object, linked at `address`, is what the program has there. Bytes that the linker
// writes are not compared.
bool same_bytes(const elf::File& object, const elf::Section& section, const elf::File& program,
                uint64_t address);

} // namespace rdb::link
