// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/file_io.h"

#include "rdbtool/base/bounded_file.h"
#include "rdbtool/base/error.h"
#include "rdbtool/base/file_size_limit.h"
#include "rdbtool/base/output_file.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace rdb::trace {
namespace {

template <class Write>
void write_pieces(size_t size, const std::string& path, Write write) {
  WithoutSigxfsz guard;
  size_t done = 0;
  while (done < size) {
    ssize_t n = write(done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      int error = n == 0 ? ENOSPC : errno;
      if (error == EFBIG) guard.exceeded();
      throw std::system_error(error, std::generic_category(), path + ": cannot write");
    }
  }
}

} // namespace

void throw_errno(const std::string& path, const char* what) {
  throw std::system_error(errno, std::generic_category(), path + ": " + what);
}

OwnedFd open_file(const std::string& path, int flags, int mode) {
  OwnedFd fd(open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd) throw_errno(path, "cannot open");
  return fd;
}

void write_all(int fd, const void* data, size_t size, const std::string& path) {
  write_pieces(size, path,
               [=](size_t done) { return write(fd, static_cast<const char*>(data) + done, size - done); });
}

void pwrite_all(int fd, const void* data, size_t size, uint64_t offset, const std::string& path) {
  write_pieces(size, path, [=](size_t done) {
    return pwrite(fd, static_cast<const char*>(data) + done, size - done, static_cast<off_t>(offset + done));
  });
}

void allocate_file(int fd, uint64_t size, const std::string& path) {
  WithoutSigxfsz guard;
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit lifted = {before.rlim_max, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &lifted);
  bool done =
      ftruncate(fd, static_cast<off_t>(size)) == 0 && fallocate(fd, 0, 0, static_cast<off_t>(size)) == 0;
  int error = errno;
  setrlimit(RLIMIT_FSIZE, &before);
  if (done) return;
  if (error == EFBIG) guard.exceeded();
  throw std::system_error(error, std::generic_category(), path + ": cannot be allocated");
}

size_t pread_some(int fd, void* data, size_t size, uint64_t offset, const std::string& path) {
  size_t done = 0;
  while (done < size) {
    ssize_t n = pread(fd, static_cast<char*>(data) + done, size - done, static_cast<off_t>(offset + done));
    if (n == 0) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno(path, "cannot read");
    done += static_cast<size_t>(n);
  }
  return done;
}

OwnedFd open_part(const std::string& path, int folder, const std::string& name) {
  OwnedFd fd(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno == ELOOP) user_error("{}: a link, and no file of a trace", path);
  if (!fd) throw_errno(path, "cannot open");
  struct stat status;
  if (fstat(fd.get(), &status) != 0) throw_errno(path, "cannot read");
  if (!S_ISREG(status.st_mode)) user_error("{}: not a regular file", path);
  return fd;
}

OwnedFd open_part(const std::string& path) {
  return open_part(path, AT_FDCWD, path);
}

std::filesystem::directory_iterator entries_of(const std::string& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error && error != std::errc::no_such_file_or_directory)
    user_error("{}: cannot read the directory: {}", directory, error.message());
  return entries;
}

std::string read_file(const std::string& path, size_t limit) {
  OwnedFd fd = open_part(path);
  return read_bounded(fd.get(), path, limit);
}

void replace_file(const std::string& path, std::string_view text) {
  OutputFile file(path, 0600);
  write_all(file.fd(), text.data(), text.size(), path);
  file.finish();
}

} // namespace rdb::trace
