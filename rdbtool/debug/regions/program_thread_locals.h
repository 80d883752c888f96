// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the program's thread-local variables. Each thread of the program has a block with those of the
// program file that a bundle belongs to, and the block of another thread is somewhere else. A program's own
// block is at a fixed distance from the thread pointer (the FS base). A shared library's is only known to the
// dynamic linker: what it has written into the library's memory, for the library's own code, says where to
// look. And a thread may have no block yet, since glibc makes it when the thread first uses it.
#pragma once

#include "descriptors/descriptor.h"
#include "rdbtool/debug/regions/program_file.h"
#include "rdbtool/engine/engine.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdb::debug {

// The address of the block of the thread with this thread pointer; 0 if there is none yet. `bias` is what was
// added to the file's addresses.
uint64_t find_thread_block(engine::GuestMemory& memory, const ThreadBlockRule& rule, uint64_t bias,
                           uint64_t thread_pointer);

class ProgramThreadLocals {
public:
  // What debug code uses: the symbols of the descriptors that are thread-local, and arguments.
  void attach(const descriptors::Descriptors& descriptors, const ThreadBlockRule& rule);
  // Does debug code use any?
  bool any() const { return any_; }
  // Those that it uses by name, as indices of Descriptors::symbols.
  const std::vector<size_t>& symbols() const { return symbols_; }

  // Another thread runs, perhaps. True if its block was looked for, and may be another one than before.
  bool use_thread(engine::GuestMemory& memory, uint64_t bias, uint64_t thread_pointer);
  // Of the thread that runs; 0 if it has none yet.
  uint64_t block() const { return block_; }
  // The file was mapped somewhere else.
  void forget() { thread_ = 0; }

private:
  ThreadBlockRule rule_;
  std::vector<size_t> symbols_;
  bool any_ = false;
  uint64_t thread_ = 0; // the thread pointer for which the block was found
  uint64_t block_ = 0;
};

} // namespace rdb::debug
