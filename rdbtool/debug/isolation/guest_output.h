// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What functions of the program print when debug code calls them. It is debug output, in its place among the
// rest. A buffer of the program's stdio is undone with everything else that such a function has written: its
// text is shown when the function has returned. Text of the program's own that waited in the buffer before is
// not, since the recorded run writes it later.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace rdb::debug {

class GuestLibc;

class GuestOutput {
public:
  explicit GuestOutput(const GuestLibc& libc) : libc_(libc) {}
  // Before the first call of a region.
  void begin();
  // After each call, and before it calls back into debug code: shows what waits in the buffers.
  void show_waiting();
  // The function makes this call: write(), or writev() if `vectors`, of 1 or 2. Its result.
  int64_t write(int descriptor, uint64_t from, uint64_t count, bool vectors);

private:
  // Standard output and error of the program, if its libc is one that is known.
  struct StandardStream {
    uint64_t file = 0;    // its address; 0: not known
    uint64_t begin = 0;   // of what waits in the buffer
    uint64_t shown = 0;   // up to here it is the program's own, or was shown
    bool written = false; // that was written meanwhile: whatever waits now is new
  };
  int64_t write_piece(StandardStream& stream, FILE* to, uint64_t from, uint64_t size);

  const GuestLibc& libc_;
  std::array<StandardStream, 2> streams_;
};

} // namespace rdb::debug
