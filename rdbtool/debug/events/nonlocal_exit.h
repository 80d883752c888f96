// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that are abandoned by longjmp() or an exception instead of returning. Whoever waits for a call to
// return waits at its return address. The program may come to that address although the call was abandoned:
// in the same frame, which goes on, or in another one that happens to be as deep. So rdb looks at the
// longjmp() itself, and at the return address, which a return leaves on the stack below the stack pointer.
#pragma once

#include "rdbtool/debug/stopped_thread.h"

#include <optional>

namespace rdb::debug {

// A range of calls, each known by the stack pointer that it returns with.
struct AbandonedCalls {
  uint64_t above;
  uint64_t up_to;
  bool has(uint64_t sp) const { return sp > above && sp <= up_to; }
};
// The thread enters one of kNonlocalExits: the calls that it abandons. Nothing if it goes to another stack,
// where calls may go on later.
std::optional<AbandonedCalls> abandoned_calls(const StoppedThread& thread);

// The thread is at `pc`, where a call returns to, with the stack pointer that the call returns with. Returns
// true if it has come there by a return, and not by longjmp(): then the return address is still in the slot
// below the stack pointer.
bool has_just_returned(const StoppedThread& thread, uint64_t pc);

} // namespace rdb::debug
