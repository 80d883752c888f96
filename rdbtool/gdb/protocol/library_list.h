// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shared libraries of the program, as its dynamic linker lists them for debuggers.
//
// Going backwards, a library is unloaded that will be loaded again. gdb would forget all it knows about it,
// and what the user has set in it (gdb 13 crashes if that was `catch throw`). So a library that has been seen
// stays in the list while the run is at a position before that, and its code can be read from the recorded
// file.
#pragma once

#include "rdbtool/gdb/protocol/target.h"

#include <map>
#include <string>
#include <vector>

namespace rdb::gdb {

class LibraryList {
public:
  explicit LibraryList(Target& target) : target_(target) {}

  // What qXfer:libraries-svr4:read answers with.
  std::string xml();
  // For memory that the program does not have here, but will have with a library: as read_memory().
  size_t read_code(GuestAddr from, std::span<std::byte> to);

private:
  struct Library {
    std::string name;
    uint64_t link_map = 0, base = 0, dynamic = 0;
    // The namespace, by the address of its record. The first has none: while the program has not made it, gdb
    // would take the program to be in another one than its libraries.
    uint64_t space = 0;
    auto operator<=>(const Library&) const = default;
  };
  struct Code {
    GuestAddr end;
    uint64_t offset = 0;
    std::string path;
  };

  template <class T>
  bool read(uint64_t from, T& value);
  std::string read_text(uint64_t from);
  uint64_t debug_record();
  std::vector<Library> loaded(uint64_t& main_map);
  void remember(const std::vector<Library>& libraries);

  Target& target_;
  std::map<Library, Position> first_seen_;
  std::map<GuestAddr, Code> code_; // of libraries that have been seen, by where it begins
};

} // namespace rdb::gdb
