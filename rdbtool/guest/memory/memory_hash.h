// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hashes of the guest's writable memory, page by page, to compare two processes that should be alike.
#pragma once

#include "rdbtool/guest/memory/address_space.h"

#include <sys/types.h>

namespace rdb::guest {

struct PageHash {
  uint64_t address = 0;
  uint64_t hash = 0;
};

struct PageChoice {
  bool whole = true; // all writable memory, or just `window` bytes on both sides of `around`
  uint64_t around = 0;
  uint64_t window = 0;
};

// Pages in order of address; those that hold only zeros are left out, so that it makes no difference which
// ones were ever touched. The number of entries, at most `most`.
size_t hash_pages(const AddressSpace& space, const PageChoice& choice, PageHash* out, size_t most);

// The first byte of the page that differs between this process and a copy of it.
struct FirstDifference {
  uint64_t address = 0;
  uint8_t own = 0;
  uint8_t other = 0;
};
FirstDifference first_difference(pid_t copy, uint64_t page);

// Is any writable memory shared with other processes?
bool has_shared(const AddressSpace& space);

// In a copy: memory shared with others becomes this process' own.
void detach_shared(const AddressSpace& space);

} // namespace rdb::guest
