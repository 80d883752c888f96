// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whose symbol is it? Debug code that says `counter` means the program's, `printf` its own private one. The
// rules, in their order:
//   a  allocation, stdio, C and C++ runtime: private, even if the program defines them too
//   b  defined in the program's objects or archives: the program's
//   c  libc, libm, libstdc++, libgcc: private
//   d  another shared library of the link: that library's, in the program
//   e  defined by debug code itself: the module's
// and otherwise it is an error. rdb_guest(f) asks for the program's, whatever rule a says.
#pragma once

#include "descriptors/descriptor.h"
#include "llvm-passes/link/inputs.h"
#include "llvm-passes/link/slot_names.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace rdb::link {

struct Definition {
  uint64_t address = 0; // linked; for thread-local ones the offset in the TLS block
  bool thread_local_ = false;
  bool indirect = false; // STT_GNU_IFUNC: the address is a resolver's
  std::string where;     // the object that it comes from
};

class Ownership {
public:
  Ownership(const Command& command, const Inputs& inputs,
            std::map<std::string, Definition, std::less<>> program, std::set<std::string, std::less<>> module,
            std::set<std::string, std::less<>> support);

  // The record for a slot; nothing if no rule finds an owner, then `why_not` says so.
  std::optional<descriptors::Symbol> decide(std::string_view slot) const;
  std::string why_not(std::string_view slot) const;

  // Paths of the runtime's shared libraries that the module is linked with.
  const std::vector<std::string>& runtime() const { return runtime_; }

private:
  bool is_runtime_name(std::string_view name) const;

  std::map<std::string, Definition, std::less<>> program_;
  std::set<std::string, std::less<>> module_, support_;
  std::map<std::string, std::string, std::less<>> private_;   // name -> system library
  std::map<std::string, std::string, std::less<>> libraries_; // name -> other shared library
  std::map<std::string, std::string, std::less<>> unused_;    // defined in an input, but not in the program
  std::vector<std::string> runtime_;

public:
  void add_unused(std::string name, std::string where) { unused_.emplace(std::move(name), std::move(where)); }
};

} // namespace rdb::link
