// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that the table refuses: what the program gets for its arguments, and whether the user is told.
#pragma once

#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/syscalls/table.h"

namespace rdb::guest {

// What the kernel would find wrong with the arguments before it comes to what rdb does not do, as an error;
// or the table's error; 0 if there is nothing to refuse.
int error_of_refused(const CallShape& shape, const SyscallArgs& arguments, AddressSpace& space);

// Programs try these and do well without them: many machines do not have them either.
bool is_harmless(const CallShape& shape);

// Whether the user is told of harmless ones, too (-v). Handed on across execve.
void tell_harmless(bool tell);
bool tells_harmless();

} // namespace rdb::guest
