// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rdb-clang does after the linker has made a program: if its objects carry debug code, make the bundle
// prog.rdb beside it. The program itself is the linker's and is not touched.
#pragma once

#include <string>
#include <vector>

namespace rdb {

struct LinkOptions {
  std::string support_library; // librdb_module.a; beside the running program (../lib/rdb) if empty
  // Objects with payloads that are not part of the program: separate debug sources.
  std::vector<std::string> debug_objects;
};

// `linker_command` is the command that made `output` (argv[0] is the linker). Returns at once if no input
// carries debug code. Throws UserError, Limit or Bug.
int after_link(const std::vector<std::string>& linker_command, const std::string& output,
               const LinkOptions& options = {});

} // namespace rdb
