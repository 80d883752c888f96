// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A static variable of the program may not exist any more when debug code asks for it: the optimiser removed
// it or split it. Then the regions that use it cannot run, and say so; the others can.
#pragma once

#include "descriptors/descriptor.h"
#include "descriptors/elf_file.h"

#include <set>
#include <string>

namespace rdb::link {

// The functions of a debug object that refer to a slot.
std::set<std::string, std::less<>> users_of(const elf::File& debug_object, std::string_view slot);

// Takes their places from the regions whose debug functions are given.
void withdraw_regions(descriptors::Descriptors& descriptors,
                      const std::set<std::string, std::less<>>& functions, const std::string& reason);

} // namespace rdb::link
