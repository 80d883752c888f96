// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of libraries that debug code passes a pointer to the program's memory: strcpy(), read(), a method of
// a std::string that lives in the program.
//
// Nobody knows what such a function writes there, and it must be undone like everything else. So the
// program's memory is read-only during the call (WriteGuard), and each page is saved when the function first
// writes to it. Most calls are given no such pointer, and cost only the look at their arguments: every word
// that lies in writable memory of the program counts as a pointer to it.
//
// That leaves the kernel. A system call that writes to read-only memory does not fault into rdb's handler, it
// fails with EFAULT. So the ranges that the pointers lead to are saved and opened before the call. How long
// they are is in another argument, as a rule: any that is not a pointer, and not longer than the memory that
// follows, is taken for a length; a page is opened in any case.
#pragma once

#include "rdbtool/debug/isolation/nested_call.h"

#include <cstdint>

namespace rdb::debug {

// A call of a function of the host has come to nested_call_stub().
void run_watched_call(CallFrame& frame, uint64_t function);

// Calls a function of the host with these registers; the results go back into the frame.
void call_watched(CallFrame& frame, uint64_t function);

} // namespace rdb::debug
