// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file of a ring (ring.h), as it lies in the folder of a process while that is recorded, and afterwards
// if the recorder was killed or its disk was full. What it holds and the log files do not is turned into the
// blocks that would have been written. The trace is not changed: it may be somebody else's, or the recording
// may still go on.
#pragma once

#include "rdbtool/trace/format/block_reader.h"
#include "rdbtool/trace/ring/ring.h"

#include <memory>
#include <string>

namespace rdb::trace {

inline constexpr const char* kRingFile = "ring";

struct LogTails {
  std::shared_ptr<const LogTail> inputs; // null: the files hold all there is
  std::shared_ptr<const LogTail> chunks;
};

// `folder`: of the process. Where the ring is damaged, the tails end with that.
LogTails read_ring(const std::string& folder, const std::string& trace_id);

// This run of the machine.
BootId boot_id();

} // namespace rdb::trace
