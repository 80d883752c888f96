// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug code uses the C++ library of this process. What that deletes may be memory of the replayed program: a
// string which a function of the program returned, for example. Then it is not ours to give back; see
// runtime-libs/module/memory.c. While no debug code runs, all of it is ours.
#include "rdbtool/debug/refusal.h"
#include "rdbtool/guest/layout.h"

#include <cstdint>
#include <cstdlib>
#include <new>

#ifndef __SANITIZE_ADDRESS__

void operator delete(void* memory) noexcept {
  if (rdb::debug::can_escape() && reinterpret_cast<uint64_t>(memory) < rdb::guest::kHighEnd) return;
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
void operator delete[](void* memory) noexcept {
  operator delete(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  operator delete(memory);
}

#endif
