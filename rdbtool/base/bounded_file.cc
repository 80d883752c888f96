// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/base/bounded_file.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/owned_fd.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>

namespace rdb {

std::string read_bounded(int fd, const std::string& path, size_t limit) {
  struct stat status = {};
  if (fstat(fd, &status) != 0) throw std::system_error(errno, std::generic_category(), path);
  if (!S_ISREG(status.st_mode)) user_error("{}: not a regular file", path);
  if (static_cast<uint64_t>(status.st_size) > limit)
    user_error("{}: too large ({} bytes) to be what its name says", path, status.st_size);
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    ssize_t size = pread(fd, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw std::system_error(errno, std::generic_category(), path + ": cannot read");
    if (size == 0) break; // it became shorter
    done += static_cast<size_t>(size);
  }
  text.resize(done);
  return text;
}

std::string read_bounded(const std::string& path, size_t limit) {
  OwnedFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) throw std::system_error(errno, std::generic_category(), path + ": cannot open");
  return read_bounded(fd.get(), path, limit);
}

} // namespace rdb
