// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words that the kernel writes to a program's memory outside the results of calls: the thread id of a new
// thread, a lock that changes hands. Here rdb writes them, and the listener hears of it.
#pragma once

#include "rdbtool/base/types.h"

#include <cstdint>

namespace rdb::guest {

class Machine;
class ProcessListener;

// False if the guest cannot write there.
bool write_word_as_kernel(Machine& machine, ProcessListener& listener, GuestAddr to, uint32_t value);

} // namespace rdb::guest
