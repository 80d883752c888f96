// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The address space as the system call layer wants to see it.
#pragma once

#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/syscalls/accessible_memory.h"

#include <algorithm>
#include <sys/mman.h>

namespace rdb::guest {

class SpaceView final : public AccessibleMemory {
public:
  explicit SpaceView(AddressSpace& space) : space_(space) {}
  size_t readable_prefix(GuestAddr address, size_t size) const override {
    // What can be written can be read on this kind of CPU.
    return prefix(address, size, PROT_READ | PROT_WRITE);
  }
  size_t writable_prefix(GuestAddr address, size_t size) const override {
    return prefix(address, size, PROT_WRITE);
  }
  size_t read(GuestAddr address, void* to, size_t size) const override {
    return space_.read(address, to, readable_prefix(address, size));
  }

private:
  size_t prefix(GuestAddr address, size_t size, int protection) const {
    size_t result = 0;
    while (result < size) {
      const Mapping* mapping = space_.find(address.value + result);
      if (mapping == nullptr || !(mapping->protection & protection)) break;
      uint64_t end = std::min(mapping->end, address.value + size);
      uint64_t there = space_.end_of_content(*mapping, address.value + result, end);
      result = there - address.value;
      if (there != end) break;
    }
    return result;
  }

  AddressSpace& space_;
};

} // namespace rdb::guest
