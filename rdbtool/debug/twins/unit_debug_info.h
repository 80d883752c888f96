// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of several: a program may have many static functions `init` and static variables `count`, and its
// symbol table tells them apart by the name of a file at best. Debug information, where there is some, says
// in which function, file and line each was written, and which functions were inlined into which.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Dwarf;

namespace rdb::debug {

// What debug information says of one unit. Addresses are as linked.
struct UnitDebugInfo {
  struct Variable {
    std::string name, linkage_name;
    std::string function, function_linkage_name; // that it is in
    std::string file;
    unsigned line = 0;
    enum class Where : uint8_t { nowhere, memory, thread_block } where = Where::nowhere;
    uint64_t address = 0; // or the offset in the thread's block
  };
  // That has code of its own. A copy of a function that the compiler has made, with fewer arguments perhaps,
  // has the name of the function.
  struct Function {
    std::string name, linkage_name; // which is empty in C
    std::string file;
    unsigned line = 0;
    uint64_t address = 0;
  };
  struct Inlined {
    std::string function; // as linked, or else the name
    uint64_t into;        // the address of a function in `functions`
    unsigned count;       // of places
  };
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Inlined> inlined;
};

class ProgramDebugInfo {
public:
  // Of this file; if it has none, or more than is read, there are no units.
  explicit ProgramDebugInfo(const std::string& path);
  ~ProgramDebugInfo();
  ProgramDebugInfo(const ProgramDebugInfo&) = delete;
  ProgramDebugInfo& operator=(const ProgramDebugInfo&) = delete;

  // Null if there is none of this source, or if it cannot be told which it is.
  const UnitDebugInfo* unit(const std::string& source, const std::string& directory);

  // Why the debug information is not used though there is some; empty: it is.
  const std::string& refused() const { return refused_; }

private:
  struct Known {
    uint64_t die; // its offset
    std::string path;
    std::unique_ptr<UnitDebugInfo> info;
  };

  int fd_ = -1;
  Dwarf* dwarf_ = nullptr;
  std::string refused_;
  std::vector<Known> units_;
};

// Is this the same file, as far as their names tell? The length of the end that they share, in folders and
// names; the whole if one of them is all of the other's end.
unsigned common_tail(const std::string& a, const std::string& b);

} // namespace rdb::debug
