// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long a gdb that answers a question for rdb may compute. Debug information that no compiler writes lets
// gdb loop for ever, and nobody is there to press Ctrl-C. So gdb has a limited number of seconds of CPU time,
// and gets them again whenever it lets the program run: a long recording takes as long as it takes.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace rdb::cli {

class GdbTime {
public:
  // `file_bytes`: of all that gdb may have to read before the program runs.
  explicit GdbTime(uint64_t file_bytes);

  // In gdb's process, before it executes gdb.
  void limit_this_process() const;
  // It has let the program run.
  void begin_again(pid_t gdb) const;
  // As its end is told if it took longer.
  uint64_t seconds() const { return seconds_; }

private:
  uint64_t seconds_;
};

} // namespace rdb::cli
