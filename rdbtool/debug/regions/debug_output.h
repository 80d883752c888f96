// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the output of debug code goes. Debug code prints to the stdout of the process that it shares with
// rdb. The user may want it in a file (--debug-output), or each line with the time and place that it comes
// from
// (--prefix), or the lines counted (--stats). For the last two, stdout is a file in memory; after each run
// the lines are taken from there and shown.
#pragma once

#include "rdbtool/debug/regions/region_stats.h"
#include "rdbtool/replay/replayer.h"

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace rdb::debug {

class DebugOutput {
public:
  struct Options {
    std::string file;         // instead of standard output
    bool append = false;      // to what that file holds
    bool prefix = false;      // time, thread, file:line before each line
    bool count_lines = false; // in RegionCount::lines
  };
  // From now on stdout is where debug output goes. Throws UserError if the file cannot be written.
  explicit DebugOutput(const Options& options);

  // A descriptor of what standard output was, or of the file; -1 if standard output itself is that.
  int terminal() const { return terminal_; }
  // From here on what debug code prints is added to `to`, as it would be shown; until end_hold().
  void hold(std::string& to);
  void end_hold();
  // Shows what was held back.
  void show(std::string_view text);

  // Lines are taken from a file in memory.
  bool is_captured() const { return captured_ >= 0; }
  // The error for which some of the output could not be written; 0 if all was.
  int lost() const { return lost_; }

  // May the stream hold something that is not written out yet? To ask libc for sure is a call, which code in
  // the guest's context must not make.
  [[gnu::always_inline]] static bool may_be_pending(const FILE* file) {
    return file->_IO_write_ptr != file->_IO_write_base || file->_mode > 0;
  }
  // After debug code has run: writes out what its streams hold.
  void flush();
  // Of what is captured: shows the lines that the region has printed, and counts them. Takes nothing from the
  // heap, which debug code may have broken after it printed them.
  void show_lines(const replay::Replayer& replayer, RegionCount& count);

private:
  void put(std::string_view bytes);
  void put_prefix(const replay::Replayer& replayer, std::string_view place);
  void write_out();

  bool prefix_;
  int terminal_ = -1;
  int captured_ = -1; // the file in memory
  std::string* held_ = nullptr;
  int before_hold_ = -1; // what stdout was, if it is captured only while lines are held back
  int lost_ = 0;
  char read_[1 << 14];    // from the file in memory
  char waiting_[1 << 14]; // to be written to the terminal
  size_t waiting_size_ = 0;
};

} // namespace rdb::debug
