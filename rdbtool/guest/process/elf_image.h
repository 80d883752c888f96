// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An ELF file put into the guest's address space as the kernel does at exec.
#pragma once

#include "rdbtool/guest/memory/address_space.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace rdb::guest {

struct Image {
  std::string path;
  std::string interpreter; // path of ld.so, empty if none
  uint64_t bias = 0;       // what was added to the file's addresses
  uint64_t entry = 0;
  uint64_t headers = 0; // guest address of the program headers
  uint16_t header_count = 0;
  uint16_t header_size = 0;
  uint64_t begin = 0;
  uint64_t end = 0; // behind the last byte of bss
  bool position_independent = false;
};

// The kernel would have killed the program with SIGSEGV before its first instruction.
struct KilledAtStart : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Maps the file. Throws UserError when it is not a program that this machine can run, or KilledAtStart.
Image load_image(AddressSpace& space, const std::string& path);

// What to execute for a path: a script's interpreter line is followed as the kernel does.
struct Program {
  std::string path;              // the ELF file
  std::vector<std::string> argv; // with the interpreter's arguments in front
};
// Negative errno instead of a program when it cannot be executed.
int resolve_program(const std::string& path, const std::vector<std::string>& argv, Program& out);

} // namespace rdb::guest
