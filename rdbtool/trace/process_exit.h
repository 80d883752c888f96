// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a process of a recording ended.
#pragma once

#include "rdbtool/trace/reader.h"

#include <optional>

namespace rdb::trace {

// Whether another program of the same process follows.
bool goes_on(const TraceReader& trace, const ProcessInfo& process);

// Nothing if its log was cut off.
std::optional<ExitInput> exit_of(const TraceReader& trace, const ProcessInfo& process);

} // namespace rdb::trace
