// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes that a system call such as write or writev puts out.
#pragma once

#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/memory/address_space.h"

#include <functional>

namespace rdb::guest {

// Hands them over piece by piece, at most `most` in all (of sendmmsg, so many messages, as far as they were
// sent); their number. None for other calls.
int64_t show_output(AddressSpace& space, const SystemCall& call, uint64_t most,
                    const std::function<void(const void* bytes, size_t size)>& show);

} // namespace rdb::guest
