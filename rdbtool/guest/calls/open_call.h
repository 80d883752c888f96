// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// open() and its relatives, which carry the same flags in different places.
#pragma once

#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/memory/address_space.h"

#include <cstdint>

namespace rdb::guest {

// The O_* flags of a call that opens a file (CallProperties::opens). Flags in memory that cannot be read are
// 0: the call fails.
uint64_t open_flags(const SystemCall& call, AddressSpace& space);

} // namespace rdb::guest
