// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recorded process has called execve, its old program is gone, and the new one could not be loaded. Its log
// is a start without memory and what became of it: without a log, the process would seem to have ended as
// its old program did when that called execve, with status 0.
#pragma once

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_options.h"
#include "rdbtool/record/recorder.h"

#include <string>

namespace rdb::record {

// The kernel kills such a program.
void log_killed_at_start(trace::LogProducer& log, const guest::ProcessOptions& program,
                         const RecorderOptions& recording, const guest::Ending& ending);

// A limit of rdb, or what only rdb needs and has not got.
void log_not_loaded(trace::LogProducer& log, const guest::ProcessOptions& program,
                    const RecorderOptions& recording, const std::string& why);

} // namespace rdb::record
