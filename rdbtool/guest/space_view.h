// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The address space as the system call layer wants to see it.
#pragma once

#include "rdbtool/guest/address_space.h"
#include "rdbtool/guest/syscalls/guest_memory.h"

#include <algorithm>
#include <sys/mman.h>

namespace rdb::guest {

class SpaceView final : public GuestMemory {
public:
  explicit SpaceView(const AddressSpace& space) : space_(space) {}
  size_t readable_prefix(GuestAddr address, size_t size) const override {
    return prefix(address, size, PROT_READ);
  }
  size_t writable_prefix(GuestAddr address, size_t size) const override {
    return prefix(address, size, PROT_WRITE);
  }

private:
  size_t prefix(GuestAddr address, size_t size, int protection) const {
    size_t result = 0;
    while (result < size) {
      const Mapping* mapping = space_.find(address.value + result);
      if (mapping == nullptr || !(mapping->protection & protection)) break;
      result = mapping->end - address.value;
    }
    return std::min(result, size);
  }

  const AddressSpace& space_;
};

} // namespace rdb::guest
