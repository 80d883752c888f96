// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A trace as one file to send to a colleague: a tar file compressed with zstd, which `tar --zstd` reads too.
#pragma once

#include <string>

namespace rdb::trace {

// Writes the trace at `trace_path` into `file`, replacing it. What a recorder that was killed, or whose disk
// was full, could not write to the logs any more is in the packed ones. Throws UserError if the trace is
// being recorded. Where it is damaged, so that the packed one has less: in one line; empty if it has all.
std::string pack_trace(const std::string& trace_path, const std::string& file);

// Makes a trace of `file` in trace_root(), or as `directory` if one is given, and returns its path. The name
// is the packed one, with the next free number if that is taken. Everything is checked: names against what a
// trace holds, contents against their hashes. Throws UserError, and leaves nothing behind, if anything is
// wrong.
std::string unpack_trace(const std::string& file, const std::string& directory = {});

} // namespace rdb::trace
