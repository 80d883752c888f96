// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which lines of a source have code in a program, where it begins, and which variables the debug information
// can find there.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace rdb::debug {

struct LineCode {
  std::set<uint64_t> begins;         // addresses as linked
  std::set<std::string> available;   // variables that have a place wherever the line begins
  std::set<std::string> unavailable; // the others that one could name there
};

// A source's path in debug information names the file that the user calls `name`.
bool names_source(const std::string& path, const std::string& name);

// The lines from `first` to `last` that have code in the ELF file at `program`. `source` is a path, or the
// last parts of one. Empty if there is no debug information about it.
std::map<unsigned, LineCode> source_lines(const std::string& program, const std::string& source,
                                          unsigned first, unsigned last);

} // namespace rdb::debug
