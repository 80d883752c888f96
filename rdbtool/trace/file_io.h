// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The few file operations of a trace, each all or nothing, with errors as std::system_error that name the
// path.
#pragma once

#include "rdbtool/base/owned_fd.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rdb::trace {

using rdb::OwnedFd;

[[noreturn]] void throw_errno(const std::string& path, const char* what);

// With O_CLOEXEC added.
OwnedFd open_file(const std::string& path, int flags, int mode = 0600);

// Writes all of it. A file-size limit gives an error as a full disk does, not a SIGXFSZ.
void write_all(int fd, const void* data, size_t size, const std::string& path);
void pwrite_all(int fd, const void* data, size_t size, uint64_t offset, const std::string& path);

// Gives a new file this size, with all its space taken at once. A soft limit on file sizes is lifted
// meanwhile: it is the guest's, and meant for what it writes.
void allocate_file(int fd, uint64_t size, const std::string& path);

// As many bytes as there are, up to `size`.
size_t pread_some(int fd, void* data, size_t size, uint64_t offset, const std::string& path);

// Opens a file of a trace for reading. Whoever made the trace may have put something else in its place: a
// link, which is not followed, or a pipe, which is not waited for, is a UserError.
OwnedFd open_part(const std::string& path);
// The same by its name in an open folder; `path` is for messages.
OwnedFd open_part(const std::string& path, int folder, const std::string& name);

// What is in a directory: nothing if it does not exist. One that cannot be read is a UserError.
std::filesystem::directory_iterator entries_of(const std::string& directory);

// A whole file of a trace, refused with a UserError if it is larger than `limit`.
std::string read_file(const std::string& path, size_t limit);

// Replaces `path` by a file with these bytes: readers see the old one or the new one.
void replace_file(const std::string& path, std::string_view text);

} // namespace rdb::trace
