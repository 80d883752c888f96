// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What other processes find in /proc/PID about a program that runs under rdb. Its arguments, environment and
// auxiliary vector are shown by the kernel itself, from the program's own memory; /proc/PID/exe leads to rdb
// whatever one does, so guests that ask for it are told by rdb.
#pragma once

#include "rdbtool/guest/process/initial_stack.h"

#include <linux/prctl.h>
#include <optional>
#include <string>

namespace rdb::guest {

// From here on the kernel shows this process with what the guest was started with, if it lets us.
void show_in_proc(const StackImage& stack);

// The same in two steps, for a process that must not use the C library: what the kernel shows of this one's
// memory, and nothing where that cannot be told.
std::optional<prctl_mm_map> shown_in_proc();

// The program that another process runs under rdb; nothing if it does not, or cannot be looked at.
std::optional<std::string> program_of_other(int pid);

// What the kernel calls a program by that path: one without a name is reached by a descriptor of rdb's.
std::string shown_name(const std::string& program);

} // namespace rdb::guest
