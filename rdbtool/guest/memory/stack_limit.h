// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The size of the first thread's stack. The kernel lets it grow on faults, up to the limit at that moment;
// rdb maps the maximum size from the start.
#pragma once

#include <cstdint>

namespace rdb::guest {

class Process;

// How much is mapped with this limit.
uint64_t stack_size(uint64_t limit);

// The limit has changed: maps more of the stack, or takes away what was never used.
void fit_stack(Process& process, uint64_t limit);

} // namespace rdb::guest
