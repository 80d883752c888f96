// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Is a source still what a program was compiled from? DWARF 5 may hold the checksum of every source.
#pragma once

#include "descriptors/elf_file.h"
#include "rdbtool/debug/print/md5.h"

#include <optional>
#include <string>

namespace rdb::debug {

// The checksum in the program's debug information of the source that the user calls `name`; none if it
// holds none. Throws elf::Error if the debug information contradicts itself.
std::optional<Md5> recorded_checksum(const elf::File& program, const std::string& name);

} // namespace rdb::debug
