// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a region's arguments are in the stopped guest, as the descriptors say.
#pragma once

#include "rdbtool/debug/regions/expression.h"

#include <cstddef>
#include <string>
#include <vector>

namespace rdb::debug {

// Storage for values that are not in guest memory; kept from call to call.
class ArgumentBuffer {
public:
  std::byte* take(size_t size, size_t align);
  void reset() { used_ = 0; }

private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(1 << 20);
  size_t used_ = 0;
};

// The address to hand to the debug function; null with `reason` set if the value cannot be had. Activation
// parts are resolved by the caller.
void* locate(const descriptors::Argument& argument, const ArgumentSource& source, ArgumentBuffer& buffer,
             std::string& reason);

} // namespace rdb::debug
