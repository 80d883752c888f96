// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug code uses the C and C++ libraries of this process. What they give back may be memory of the replayed
// program: a string which a function of the program returned, for example. Then it is not ours, and a heap
// that took it would hand it out again; see runtime-libs/module/memory.c. While no debug code runs, all of it
// is ours. The libraries find these functions instead of libc's, operator delete does too.
#include "rdbtool/debug/refusal.h"
#include "rdbtool/guest/layout.h"

#include <cstddef>
#include <cstdint>

#ifndef __SANITIZE_ADDRESS__

namespace {

bool is_programs(const void* memory) {
  return rdb::debug::can_escape() && memory != nullptr &&
         reinterpret_cast<uint64_t>(memory) < rdb::guest::kHighEnd;
}

} // namespace

extern "C" {

void __libc_free(void* memory);
void* __libc_realloc(void* memory, size_t size);

void free(void* memory) {
  if (!is_programs(memory)) __libc_free(memory);
}

void* realloc(void* memory, size_t size) {
  if (is_programs(memory))
    rdb::debug::give_up("a library function was to change the size of a block in the program's memory");
  return __libc_realloc(memory, size);
}
}

#endif
