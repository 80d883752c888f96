// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program in memory, ready for its first instruction.
#pragma once

#include "rdbtool/guest/process/elf_image.h"
#include "rdbtool/guest/process/initial_stack.h"

namespace rdb::guest {

class GuestLimits;
class Machine;
struct ProcessOptions;

struct LoadedProgram {
  Program file;
  Image image;
  StackImage stack;
};

// Maps the program and its interpreter as execve does, makes its stack, and points the registers at its first
// instruction. Throws what load_image() throws.
LoadedProgram load_program(Machine& machine, const Program& file, const ProcessOptions& options,
                           const GuestLimits& limits);

} // namespace rdb::guest
