// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the system call layer must know of guest memory: how far from an address the guest could read or
// write before it would fault. Guest and host share one address space, so this is also the line between
// what belongs to the guest and what must look unmapped to it.
#pragma once

#include "rdbtool/base/types.h"

#include <cstddef>
#include <cstring>

namespace rdb {

class AccessibleMemory {
public:
  virtual ~AccessibleMemory() = default;

  // The number of bytes, at most `size`, that the guest can read (write) from `address` on without a fault.
  // A page that rdb has write-protected for its own purposes counts as writable if the guest thinks it is.
  virtual size_t readable_prefix(GuestAddr address, size_t size) const = 0;
  virtual size_t writable_prefix(GuestAddr address, size_t size) const = 0;

  // Copies up to the first inaccessible byte; returns how many bytes were copied.
  virtual size_t read(GuestAddr address, void* to, size_t size) const {
    size_t readable = readable_prefix(address, size);
    if (readable != 0) std::memcpy(to, address.ptr<const void>(), readable);
    return readable;
  }
};

} // namespace rdb
