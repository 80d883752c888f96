// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of the debug code's libraries that are given a pointer to the program's memory. Nothing tells what
// they write there, so it is read-only meanwhile, and kept page by page as they come to it; the kernel, which
// does not wait to be asked, is let where the pointers lead to.
#pragma once

#include "rdbtool/debug/nested_call.h"

#include <cstdint>

namespace rdb::debug {

// Such a call has come to nested_call_stub().
void run_watched_call(CallFrame& frame, uint64_t function);

// Calls a function of the host with these registers; the results go back into the frame.
void call_watched(CallFrame& frame, uint64_t function);

} // namespace rdb::debug
