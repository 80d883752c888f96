// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which files make up a trace, by their names. What has another name, or is no regular file, is not rdb's: it
// is not packed, not unpacked and not deleted.
#pragma once

#include "rdbtool/base/owned_fd.h"

#include <string>

namespace rdb::trace {

// A folder inside that of a trace: "files", "1234", "1234.2".
bool is_trace_folder(const std::string& name);

// A file of a trace that says what was recorded; `folder` is empty for the trace's own folder.
bool is_recorded_file(const std::string& folder, const std::string& name);

// The same or a file that only matters while it is recorded: locks, reserves, what was not finished.
bool is_trace_file(const std::string& folder, const std::string& name);

// Opens "metadata.json" or "1234/inputs" of the trace in this folder for reading, following no link on the
// way. Throws UserError if it is not a regular file, std::system_error if it cannot be opened.
OwnedFd open_in_trace(const std::string& trace_path, const std::string& name);

// May a trace in the trace root have this name? It can be typed, printed and passed to any command.
bool is_trace_name(const std::string& name);

} // namespace rdb::trace
