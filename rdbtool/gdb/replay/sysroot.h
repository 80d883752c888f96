// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where gdb finds the recorded program and its libraries. If this machine still has the same files, that is
// the machine itself; if not, a tree of links to the recorded copies.
#pragma once

#include "rdbtool/trace/trace_reader.h"

#include <string>

namespace rdb::gdb {

// For gdb's `set sysroot`. `directory` is an empty one that may be filled.
std::string prepare_sysroot(const trace::TraceReader& trace, const std::string& directory);

} // namespace rdb::gdb
