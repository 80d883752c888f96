// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which guest memory a system call reads, from the table's words about its arguments: for those who watch
// memory that is not touched by instructions alone.
#pragma once

#include "rdbtool/syscalls/accessible_memory.h"
#include "rdbtool/syscalls/table.h"

#include <functional>

namespace rdb {

using ReadVisitor = std::function<void(GuestAddr address, uint64_t size)>;

// Of a call that ended with `result`: paths, structures, and of data as much as was taken. Nothing that the
// program could not have read itself is visited.
void visit_call_reads(uint64_t number, const SyscallArgs& args, int64_t result,
                      const AccessibleMemory& memory, const ReadVisitor& visit);

} // namespace rdb
