// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A wait (futex) for a robust lock in memory that processes share. Who has the lock may be killed, and the
// kernel may not be able to mark it, because its page is protected; nobody wakes the waiters then. So they
// wake up now and then and look.
#pragma once

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/record/recorded_baton.h"
#include "rdbtool/record/shared_memory/shared_pages.h"

namespace rdb::record {

// Makes the call. Its words are where the arguments `reachable` say; everything else is in the call's own.
int64_t wait_for_lock(guest::Machine& machine, const guest::SystemCall& call, const CallShape& shape,
                      const SyscallArgs& reachable, SharedPages& shared, RecordedBaton& baton);

} // namespace rdb::record
