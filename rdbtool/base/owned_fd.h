// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file descriptor that closes itself.
#pragma once

#include <unistd.h>
#include <utility>

namespace rdb {

class OwnedFd {
public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    OwnedFd old(std::exchange(fd_, std::exchange(other.fd_, -1)));
    return *this;
  }
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

private:
  int fd_ = -1;
};

} // namespace rdb
