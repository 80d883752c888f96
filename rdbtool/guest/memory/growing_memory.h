// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mappings with MAP_GROWSDOWN: the kernel extends them when an address below their start is accessed. rdb
// does not tell the kernel about them and extends them itself, so that no memory appears that is not in the
// recording.
#pragma once

#include "rdbtool/engine/engine.h"
#include "rdbtool/guest/calls/system_call.h"

#include <optional>

namespace rdb::guest {

class AddressSpace;
class GuestLimits;

// If the fault would not have happened natively, makes the memory grow, so that the instruction can begin
// again, and returns the call that did it.
std::optional<MadeCall> grow(AddressSpace& space, const GuestLimits& limits, const engine::Fault& fault);

// Ends the program, by name, if the kernel would have made a mapping grow at this address: for accesses of
// the kernel itself.
void refuse_growth(const AddressSpace& space, const GuestLimits& limits, GuestAddr address, const char* what);

} // namespace rdb::guest
