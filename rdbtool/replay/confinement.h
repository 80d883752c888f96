// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A replay executes the recorded program in rdb's own process. The program's system calls come from the log,
// but a program that was made for it can overwrite rdb's memory and then run any code as the user. So a
// replay without debug code gives up, before the program's first instruction, every system call that it does
// not need: it can read, compute and write to what is open, and it can change nothing else. The kernel keeps
// that promise (seccomp), whatever happens to rdb's memory.
#pragma once

#include <csignal>

namespace rdb::replay {

struct Confinement {
  bool forks = false;                // copies of the process are made, to go back to
  bool hardware_breakpoints = false; // memory is watched
};

// Holds for the rest of the process's life, and for its children. False if this kernel, or a container around
// rdb, does not let a process confine itself.
bool confine(const Confinement& wanted);

// True if `signal` is the kernel's answer to a system call that a confined process may not make.
bool is_forbidden_call(int signal, const siginfo_t& info);
// Says so and ends the process.
[[noreturn]] void report_forbidden_call(const siginfo_t& info);

} // namespace rdb::replay
