// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The size of the first thread's stack. The kernel lets it grow on faults, up to the limit at that moment;
// rdb maps the maximum size from the start.
#pragma once

#include "rdbtool/guest/calls/system_call.h"

#include <cstdint>
#include <optional>

namespace rdb::guest {

class AddressSpace;

// How much is mapped with this limit.
uint64_t stack_size(uint64_t limit);

// The limit has changed: maps more of the stack, or takes away what was never used. Returns the call that did
// it, if there was something to do.
std::optional<MadeCall> fit_stack(AddressSpace& space, uint64_t limit);

} // namespace rdb::guest
