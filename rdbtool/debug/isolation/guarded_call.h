// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls into the debug code's libraries that are passed a pointer to the program's memory. Nobody knows what
// they write there, so that memory is read-only during the call, and each page is saved when it is first
// written. The kernel does not fault into rdb's handler, so the ranges that the pointers lead to are saved
// and opened beforehand.
#pragma once

#include "rdbtool/debug/isolation/nested_call.h"

#include <cstdint>

namespace rdb::debug {

// Such a call has come to nested_call_stub().
void run_watched_call(CallFrame& frame, uint64_t function);

// Calls a function of the host with these registers; the results go back into the frame.
void call_watched(CallFrame& frame, uint64_t function);

} // namespace rdb::debug
