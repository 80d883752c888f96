// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that the guest can only write. The host reads it too, so it is readable there. But then the kernel
// would take it and memory beside it that can be read and written for one mapping, which they are not
// natively; and what has been one mapping once shares things for good that later calls depend on (mremap:
// whether parts of it are one mapping).
//
// So it is mapped or protected as the guest asks, then gets a property that means nothing here and that keeps
// mappings apart, and then becomes readable.
#pragma once

#include <cstdint>

namespace rdb::guest {

bool is_write_only(int protection);

// With which a call for this protection of the guest's is made.
int first_host_protection(int protection);

// After that call, where is_write_only(protection).
void make_readable_apart(uint64_t begin, uint64_t end);

// After a call that has given such memory another protection.
void end_apart(uint64_t begin, uint64_t end);

} // namespace rdb::guest
