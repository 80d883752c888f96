// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a region's arguments are in the stopped guest, as the descriptors say.
#pragma once

#include "descriptors/descriptor.h"
#include "rdbtool/engine/translator.h"

#include <cstddef>
#include <string>
#include <vector>

namespace rdb::debug {

// What an argument can be computed from.
struct ArgumentSource {
  engine::Translator& engine;
  engine::GuestMemory& memory;
  uint64_t bias = 0;      // of the program
  uint64_t tls_block = 0; // address of the program's thread-local block in this thread
};

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
void* locate(const descriptors::Argument& argument, const ArgumentSource& frame, ArgumentBuffer& buffer,
             std::string& reason);

// The value of a general register by its DWARF number.
uint64_t general_register(const engine::Registers& registers, descriptors::Register number);

} // namespace rdb::debug
