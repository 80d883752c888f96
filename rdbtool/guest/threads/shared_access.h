// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a switch between threads can matter: before and after an instruction that touches memory which is not
// the thread's own stack. Everything else is invisible to other threads.
#pragma once

#include "rdbtool/engine/engine.h"
#include "rdbtool/guest/memory/address_space.h"

namespace rdb::guest {

// Of the instruction that comes next.
bool touches_shared_memory(const engine::Registers& registers, AddressSpace& space);

} // namespace rdb::guest
