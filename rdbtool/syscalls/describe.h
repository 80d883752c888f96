// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A system call as one readable line, in strace's manner: read(3, "hello", 4096) = 5. Driven by the table of
// calls; pointers are followed through AccessibleMemory only, so a line can be had for any arguments
// whatever.
#pragma once

#include "rdbtool/syscalls/accessible_memory.h"
#include "rdbtool/syscalls/table.h"

#include <optional>
#include <string>

namespace rdb {

// Without a result the call has not returned: what it is to write is shown as an address. With one, memory
// must hold what the call wrote.
std::string describe_call(uint64_t number, const SyscallArgs& args, std::optional<int64_t> result,
                          const AccessibleMemory& memory);

} // namespace rdb
