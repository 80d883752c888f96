// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one rdb process tells the next across execve.
#pragma once

#include "rdbtool/guest/process/process_options.h"

#include <string>
#include <vector>

namespace rdb::guest {

struct Handover {
  std::string path;
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  MachineOptions machine;
  Inherited inherited;
  int program_fd = -1; // of a program without a name: `path` goes through it
  // What the listener passes on to that of the next program: descriptors, which stay open, and a text that
  // only listeners read.
  std::vector<int> listener_descriptors;
  std::string listener_state;
};

// Replaces this process by a new rdb that runs the program. Returns only on failure: -errno.
int64_t exec_rdb(const Handover& handover);

// In the new process: the descriptor that exec_rdb() passed.
Handover receive_handover(int fd);

// The word on rdb's command line that is followed by the descriptor.
inline constexpr const char* kHandoverCommand = "__continue";

} // namespace rdb::guest
