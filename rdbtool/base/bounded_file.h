// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads files that come from outside into memory, up to a size.
#pragma once

#include <cstddef>
#include <string>

namespace rdb {

// All of an open regular file. Throws UserError naming `path` if it is larger than `limit`, std::system_error
// if it cannot be read.
std::string read_bounded(int fd, const std::string& path, size_t limit);

// The same for a file that is opened here. What is no regular file, a pipe for example, is a UserError.
std::string read_bounded(const std::string& path, size_t limit);

} // namespace rdb
