// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Damage in what a replay of a process reads, for commands that would otherwise show less than there was and
// not say so.
#pragma once

#include "rdbtool/trace/trace_reader.h"

#include <string>

namespace rdb::trace {

// Throws UserError naming the first file of the trace that is missing or damaged, of those that the process
// has mapped.
void check_files(const TraceReader& trace, const ProcessInfo& process);

// Whether this is the end of a log of which there was more.
bool is_damaged(const TraceReader& trace, const LogEnd& end);

// Reads the logs of the process and of those that it was forked from. Where and how they are damaged, in one
// line; empty if they are not.
std::string find_damage(const TraceReader& trace, const ProcessInfo& process);

} // namespace rdb::trace
