// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of the program's C library. The program and debug code have a libc each, in one process, and
// at a few places they meet: debug code finds the program's errno in its own, what the program's functions
// print on stdout becomes debug output, the blocks that they allocate can be undone, and a longjmp() of the
// program ends calls whose return somebody waits for. For all of that rdb must know where the program's libc
// has its functions and variables. It looks them up by name when the library is mapped.
#pragma once

#include "rdbtool/debug/regions/program_file.h"
#include "rdbtool/guest/memory/address_space.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rdb::debug {

// Functions of libc that abandon calls instead of returning from them; others of their kind are these under
// other names.
inline constexpr std::array<std::string_view, 2> kNonlocalExits = {"longjmp", "__longjmp_chk"};

// How far errno is from the thread pointer, read from the machine code of __errno_location(). Nothing if it
// is not the code of glibc.
std::optional<uint64_t> errno_offset_in(engine::GuestMemory& memory, uint64_t errno_location);

class GuestLibc {
public:
  enum class Stream : uint8_t { output, error };

  // The program has mapped its libc, this file, at `begin`.
  void attach(const ProgramFile& file, uint64_t begin);

  // What the thread with this thread pointer has in errno; 0 if that is not known.
  int errno_of(guest::AddressSpace& space, uint64_t thread_pointer);
  // How far errno is from the thread pointer, once errno_of() has found out.
  std::optional<uint64_t> errno_offset() const { return errno_offset_; }
  // The program's FILE of its standard output or error; 0 while that is not known.
  uint64_t stream(Stream which) const { return streams_[static_cast<size_t>(which)]; }
  // Where the functions begin that allocate memory, and those of kNonlocalExits. None if it is another libc
  // than glibc, whose blocks and jump buffers are not known.
  const std::vector<uint64_t>& allocators() const { return allocators_; }
  const std::vector<uint64_t>& nonlocal_exits() const { return nonlocal_exits_; }

private:
  uint64_t errno_location_ = 0; // the function; 0: not known
  std::optional<uint64_t> errno_offset_;
  std::array<uint64_t, 2> streams_ = {};
  std::vector<uint64_t> allocators_;
  std::vector<uint64_t> nonlocal_exits_;
};

} // namespace rdb::debug
