// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bundles' debug regions run in a replay: those named, else those beside the recorded program and its
// libraries.
#pragma once

#include "rdbtool/debug/regions/bundle.h"
#include "rdbtool/trace/trace_reader.h"

#include <memory>
#include <string>
#include <vector>

namespace rdb::cli {

using Bundles = std::vector<std::unique_ptr<debug::Bundle>>;

// The bundles at `paths`; if there are none, those that rdb-clang left beside `program` and the libraries of
// the recording, if only the user and root can change them and they fit (and says so). An empty `program`:
// does not look.
Bundles choose_bundles(const std::vector<std::string>& paths, const std::string& program,
                       const trace::TraceReader& trace);

} // namespace rdb::cli
