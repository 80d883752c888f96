// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs of a recording: which of them a process was one after another, by execve, which one a user
// means, and how it ended.
#pragma once

#include "rdbtool/trace/trace_reader.h"

#include <optional>

namespace rdb::trace {

// What the process became by execve; null if it ended otherwise.
const ProcessInfo* next_program(const TraceReader& trace, const ProcessInfo& process);

// The process that rdb record spawned: all that it was, in order. A UserError if there is none.
std::vector<const ProcessInfo*> first_process(const TraceReader& trace);

// The program of this name, as rdb ps shows it; the last one of the first process for an empty name. A
// UserError if there is none.
const ProcessInfo& program_named(const TraceReader& trace, const std::string& name);

// Whether a log that ends in this way belongs to a process that was killed by SIGKILL: by somebody, or
// because its recorder was. Nobody knows then what it did after the end of its log.
bool was_killed(const TraceReader& trace, const ProcessInfo& process, const LogEnd& end);

// Nothing if its log was cut off for another reason than that it was killed.
std::optional<ExitInput> exit_of(const TraceReader& trace, const ProcessInfo& process);

// Whether the disk was full before it ended.
bool met_full_disk(const TraceReader& trace, const ProcessInfo& process);

// When the last thing happened that is known of it.
Time last_time_of(const TraceReader& trace, const ProcessInfo& process);

} // namespace rdb::trace
