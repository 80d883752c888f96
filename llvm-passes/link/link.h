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
  // The program was linked before, from more than the objects given: addresses are found by its symbols. The
  // bundle is made for a program of the name `bundle_for`, beside which it is put.
  bool existing_program = false;
  std::string bundle_for;
};

// `linker_command` is the command that made `output` (argv[0] is the linker). Returns at once if no input
// carries debug code. Throws UserError, Limit or Bug.
int after_link(const std::vector<std::string>& linker_command, const std::string& output,
               const LinkOptions& options = {});

// Makes a bundle of objects with debug code for a program that exists, as bundle_for + ".rdb". `libraries`
// are the shared libraries that the program uses. Throws UserError if an object is not part of the program as
// it is.
void bind_objects(const std::string& program, const std::vector<std::string>& objects,
                  const std::vector<std::string>& libraries, const std::string& bundle_for);

} // namespace rdb
