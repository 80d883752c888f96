// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mappings with MAP_GROWSDOWN: the kernel extends them when an address below their start is accessed. rdb
// does not tell the kernel about them and extends them itself, so that no memory appears that is not in the
// recording.
#pragma once

#include "rdbtool/engine/engine.h"

namespace rdb::guest {

class Process;

// The fault would not have happened natively: the memory has grown now, and the instruction can begin again.
bool grow_for(Process& process, const engine::Fault& fault);

// Ends the program, by name, if the kernel would have made a mapping grow at this address: for accesses of
// the kernel itself.
void refuse_growth(const Process& process, GuestAddr address, const char* what);

} // namespace rdb::guest
