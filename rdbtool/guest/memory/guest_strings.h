// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strings and lists of strings in guest memory, as system calls take them.
#pragma once

#include "rdbtool/guest/memory/address_space.h"

#include <string>
#include <vector>

namespace rdb::guest {

// Null-terminated; false on a bad pointer.
bool read_string(AddressSpace& space, uint64_t address, std::string& out);
bool read_strings(AddressSpace& space, uint64_t list, std::vector<std::string>& out);

} // namespace rdb::guest
