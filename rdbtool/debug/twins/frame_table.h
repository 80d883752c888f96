// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An exception goes through a twin's frames, and the program's unwinder must find how each is left. A linker
// makes a sorted table of .eh_frame for that (.eh_frame_hdr); an object file has none, and a search from its
// beginning costs half a million instructions for each frame. So the table is made here.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rdb::debug {

// The bytes of an .eh_frame_hdr that is to lie at `place`, for the .eh_frame at `frames` with these bytes,
// which are relocated. Throws elf::Error if they are not as compilers for x86-64 make them.
std::vector<uint8_t> make_frame_table(std::string_view bytes, uint64_t frames, uint64_t place);
// How large it will be at most.
uint64_t frame_table_size(std::string_view bytes);

} // namespace rdb::debug
