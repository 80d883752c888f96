// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Is this the program that the descriptors were made for? Decided by every byte that is loaded, not by a name
// or a build-id: the build-id also covers debug information, which may come and go.
#pragma once

#include "descriptors/elf_file.h"

#include <string>

namespace rdb::descriptors {

struct Identity {
  std::string build_id; // hex; "" if the program has none
  std::string hash;     // hex SHA-256 of the loaded bytes
};

// What is hashed: every PT_LOAD segment's place, flags and bytes, without the build-id's own bytes and
// without the ELF header's fields about sections (they change when a program is stripped).
Identity program_identity(const elf::File& program);

// The loaded bytes of a segment as they are hashed and compared.
std::string comparable_bytes(const elf::File& program, const Elf64_Phdr& segment);

} // namespace rdb::descriptors
