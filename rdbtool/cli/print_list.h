// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb print --list: which lines of a source have code in a recording, how often each was reached, and what
// can be printed there.
#pragma once

#include "rdbtool/debug/print/print_text.h"
#include "rdbtool/trace/trace_reader.h"

namespace rdb::cli {

int list_lines(const trace::TraceReader& trace, const trace::ProcessInfo& process,
               const debug::LineRange& range, debug::HitStyle style);

} // namespace rdb::cli
