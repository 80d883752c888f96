// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One recording: the parent, which owns the trace, and the guest's process, which hands it its log.
#pragma once

#include "rdbtool/guest/process/handover.h"
#include "rdbtool/guest/process/process.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace rdb::record {

struct SessionOptions {
  guest::ProcessOptions process;
  std::string directory;          // of the trace; empty: a new one in the trace root
  uint64_t checksum_interval = 0; // see RecorderOptions
  bool check_pages = false;       // likewise
  // When the recording is ended, if the program has not ended by then.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::function<void()> meanwhile; // called now and then while the program runs
};

struct SessionResult {
  std::string trace; // path of its directory; empty: the program never started, and nothing is left of it
  guest::Ending ending;
  bool complete = true; // false: the recording ended before the program did; `reason` says why
  std::string reason;
  bool disk_full = false; // that is why
  bool too_late = false;  // the deadline has passed
  int told_to_end = 0;    // the signal by which someone has asked rdb or its group to end, if any
};

// Runs and records the program; returns when it has ended and the trace is whole.
SessionResult record(const SessionOptions& options);

// In a process that has called execve. If it is part of a recording: runs and records its new program, and
// ends as that ends. Returns if it is not.
void continue_if_recorded(const guest::Handover& handover, const guest::ProcessOptions& options);

} // namespace rdb::record
