// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What /proc/PID/stat says of another process.
#pragma once

#include <cstdint>

namespace rdb::record {

// As in /proc/PID/stat; 0 if there is no such process.
char state_of(uint32_t pid);

// One that was killed, and that nobody has waited for yet, is dead.
bool is_alive(uint32_t pid);

// The same, once a process that is about to end has ended: others may have noticed already.
bool is_alive_for_good(uint32_t pid);

} // namespace rdb::record
