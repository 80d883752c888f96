// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/terminal.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace rdb::cli {
namespace {

// Far away from what debug code opens, if the limit of descriptors allows that.
int kept(int fd) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 100);
  return copy >= 0 ? copy : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

} // namespace

Terminal::Terminal() : out_(kept(STDOUT_FILENO)), error_(kept(STDERR_FILENO)) {}

void Terminal::output(trace::OutputStream stream, const void* bytes, size_t size) {
  clear_progress();
  has_shown_ |= size > 0;
  int fd = stream == trace::OutputStream::standard_error ? error_ : out_;
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t n = write(fd, at, size);
    if (n <= 0) {
      // Of an error stream that takes nothing, nobody could be told.
      if (fd == out_) lost_ = errno;
      return;
    }
    at += n;
    size -= static_cast<size_t>(n);
  }
}

void Terminal::show_progress(uint64_t done, uint64_t all) {
  std::string text =
      fmt::format("\r\033[Krdb: replaying, {} % of {} million instructions",
                  all == 0 ? 0 : std::min<uint64_t>(done / (all / 100 + 1), 100), all / 1'000'000);
  progress_ = write(error_, text.data(), text.size()) > 0;
}

void Terminal::clear_progress() {
  if (!progress_) return;
  progress_ = false;
  if (write(error_, "\r\033[K", 4) < 0) return; // nobody listens any more
}

} // namespace rdb::cli
