// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds functions and variables of the program by the names that users write: "parse_*", "List::insert",
// "config.c:verbose". Names in a file's symbol table are mangled, local ones are there once for each source
// file, and a file has two tables, with many symbols in both.
#pragma once

#include "descriptors/elf_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rdb::debug {

struct FoundFunction {
  std::string name; // as linked
  uint64_t address; // as linked
  bool is_indirect; // the dynamic linker calls it to find out which function to use
};
// Those whose name matches the pattern (of fnmatch): as linked, as in the source, or as in the source without
// parameters. One that is in both tables is there twice.
std::vector<FoundFunction> find_functions(const elf::File& file, const std::string& pattern);

struct FoundVariable {
  std::string name; // with its source file, "config.c:verbose", if it is local to that
  uint64_t address; // as linked
  uint64_t size;
};
// Those that are called so; `name` may have a source file in front. The symbol table does not say which file
// a global variable is from: with a source file, it counts as one of that if the file is in the table at all.
std::vector<FoundVariable> find_variables(const elf::File& file, const std::string& name);

} // namespace rdb::debug
