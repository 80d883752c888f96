// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who called whom in a stopped replay: frames with function names and source lines, from the files that the
// trace holds.
#pragma once

#include "rdbtool/replay/replayer.h"

#include <functional>
#include <string>
#include <vector>

namespace rdb::replay {

struct BacktraceFrame {
  GuestAddr pc;
  std::string function; // demangled; empty if there is no symbol
  std::string place;    // "file.c:12", or the name of the file that the code is in; empty if unknown
};

// The innermost frame first; at most `most`.
std::vector<BacktraceFrame> backtrace(Replayer& replayer, size_t most = 64);

// The same for this process itself: where code with these registers is, and who called it. `read` gives a
// word of memory; false where there is none.
std::vector<BacktraceFrame> host_backtrace(const engine::Registers& registers,
                                           const std::function<bool(uint64_t, uint64_t*)>& read, size_t most);

// One line a frame, as debuggers show them.
std::string describe(const std::vector<BacktraceFrame>& frames);

} // namespace rdb::replay
