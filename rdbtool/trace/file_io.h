// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The few file operations of a trace, each all or nothing, with errors as std::system_error that name the
// path.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rdb::trace {

// A descriptor that closes itself.
class OwnedFd {
public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    OwnedFd old(std::exchange(fd_, std::exchange(other.fd_, -1)));
    return *this;
  }
  ~OwnedFd();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

private:
  int fd_ = -1;
};

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

// A whole file, refused with a UserError if it is larger than `limit`.
std::string read_file(const std::string& path, size_t limit);

// Replaces `path` by a file with these bytes: readers see the old one or the new one.
void replace_file(const std::string& path, std::string_view text);

} // namespace rdb::trace
