// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stack as a new program finds it: strings, environment, auxiliary vector, argument count.
#pragma once

#include "rdbtool/guest/process/elf_image.h"

#include <array>
#include <string>
#include <vector>

namespace rdb::guest {

struct InitialStack {
  const std::vector<std::string>& argv;
  const std::vector<std::string>& environment;
  std::string exec_name; // AT_EXECFN: the path given to exec
  const Image& program;
  const Image* interpreter = nullptr;
  std::array<uint8_t, 16> random = {}; // AT_RANDOM
};

// Where its parts lie.
struct StackImage {
  uint64_t pointer = 0; // the initial stack pointer
  uint64_t arguments = 0;
  uint64_t arguments_end = 0;
  uint64_t environment = 0;
  uint64_t environment_end = 0;
  uint64_t auxv = 0;
  uint64_t auxv_size = 0; // in bytes, with its AT_NULL
};

// Maps the stack and fills it.
StackImage build_stack(AddressSpace& space, const InitialStack& content, uint64_t size_limit);

} // namespace rdb::guest
