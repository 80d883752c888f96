// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What compilers know of functions that they do not see, and what machine code shows of a function.
#pragma once

#include "rdbtool/debug/regions/program_file.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rdb::debug {

// Whether compilers know what a function of this name does, from the language: then a call of it does not
// make them put all variables into memory, and they may make another call of it, or none.
bool is_known_to_compilers(std::string_view name);

// Does a jump in these instructions, as linked, lead to the first of them? Then to come there is no call.
bool loops_to_entry(const ProgramFile& file, uint64_t begin, uint64_t size);

// Does this code end in a call by an address that is in a register or in memory, and not in one of a function
// that is named in the instruction?
inline constexpr size_t kLongestCall = 8;
bool ends_in_indirect_call(std::span<const uint8_t, kLongestCall> code);

} // namespace rdb::debug
