// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This program as a file: where it lies, and how to start it again. A relocatable installation brings its own
// loader and libraries; its program is then an argument of the loader, and /proc/self/exe is the loader.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rdb::guest {

struct Self {
  std::string program;            // path of rdb itself
  std::vector<std::string> words; // how it is started, before its own arguments; executed as /proc/self/exe
};

const Self& self();

// Throws UserError if /proc is not there, which rdb needs to start itself again and to look at its own memory
// and descriptors.
void require_proc();

// What self() finds: `executable` is what /proc/self/exe points to, `command` the words this process was
// started with.
Self self_of(const std::string& executable, std::span<const std::string> command);

} // namespace rdb::guest
