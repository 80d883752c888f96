// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The user's standard streams, as `rdb replay` shows a program's output on them, with one line below it that
// says how far the replay is.
#pragma once

#include "rdbtool/replay/replayer.h"

#include <cstddef>
#include <cstdint>

namespace rdb::cli {

class Terminal final : public replay::OutputSink {
public:
  // Debug code may get another standard output later: these stay the user's.
  Terminal();

  void output(trace::OutputStream stream, const void* bytes, size_t size) override;
  bool has_shown() const { return has_shown_; }
  // Why some of it could not be written; 0 if all was.
  int lost_output() const { return lost_; }

  int output_fd() const { return out_; }
  int event_fd() const { return error_; }

  // One line that the next output, or the end, takes away again.
  void show_progress(uint64_t done, uint64_t all);
  void clear_progress();

private:
  int out_;
  int error_;
  bool progress_ = false;
  bool has_shown_ = false;
  int lost_ = 0;
};

} // namespace rdb::cli
