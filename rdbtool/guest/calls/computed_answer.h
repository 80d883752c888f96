// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The outcome of a system call that rdb computes by itself in place of the kernel: the call's result, and the
// bytes that the guest finds in its memory.
#pragma once

#include "rdbtool/base/types.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdb::guest {

class AddressSpace;

struct ComputedAnswer {
  struct Write {
    GuestAddr to;
    std::vector<std::byte> bytes;
  };
  int64_t result = 0;
  std::vector<Write> writes;
};

// Puts all that the answer writes into guest memory. Returns the call's result: -EFAULT, with nothing
// written, if the guest cannot write to some of these places.
int64_t write_answer(AddressSpace& space, const ComputedAnswer& answer);

} // namespace rdb::guest
