// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/base/output_file.h"

#include "rdbtool/base/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>

namespace rdb {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path + ": cannot write");
}

mode_t current_umask() {
  mode_t mask = umask(0);
  umask(mask);
  return mask;
}

} // namespace

OutputFile::OutputFile(std::string path, mode_t mode, Unfinished removed) : path_(std::move(path)) {
  struct stat old = {};
  bool exists = lstat(path_.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) fail(path_);
  if (exists && !S_ISREG(old.st_mode)) {
    // A link may lead to a file that is not there yet; nothing else is made where something stands.
    int make = S_ISLNK(old.st_mode) ? O_CREAT : 0;
    fd_ = OwnedFd(open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY | make, mode));
    if (!fd_) fail(path_);
    return;
  }
  // The rename would not ask whether the old file may be written.
  if (exists && access(path_.c_str(), W_OK) != 0) fail(path_);
  if (removed == Unfinished::by_remover)
    make_with_remover();
  else
    make_fresh();
  if (!fd_) fail(path_);
  fchmod(fd_.get(), exists ? mode & old.st_mode & 0777 : mode & ~current_umask());
}

void OutputFile::make_fresh() {
  fresh_ = path_ + std::string(kUnfinished) + "XXXXXX";
  fd_ = OwnedFd(mkostemp(fresh_.data(), O_CLOEXEC));
  if (!fd_) fresh_.clear();
}

void OutputFile::make_with_remover() {
  remover_ = Remover::make(path_ + std::string(kUnfinished), [&](const char* path) {
    fd_ = OwnedFd(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    return bool(fd_);
  });
  if (remover_) fresh_ = remover_->path();
}

OutputFile::~OutputFile() {
  if (!fresh_.empty()) unlink(fresh_.c_str());
}

void OutputFile::finish() {
  // Some file systems tell only now that the disk is full.
  if (close(fd_.release()) != 0 && errno != EINTR) fail(path_);
  if (fresh_.empty()) return;
  if (rename(fresh_.c_str(), path_.c_str()) != 0) fail(path_);
  fresh_.clear();
}

void write_output(const std::string& path, std::string_view text, mode_t mode) {
  OutputFile file(path, mode);
  while (!text.empty()) {
    ssize_t size = write(file.fd(), text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail(path);
    text.remove_prefix(static_cast<size_t>(size));
  }
  file.finish();
}

void output_failed(const std::string& command, const std::system_error& error) {
  for (int no_room : {ENOSPC, EDQUOT, EFBIG, EIO})
    if (error.code() == std::error_code(no_room, std::generic_category()))
      throw std::runtime_error(command + error.what());
  throw UserError(command + error.what());
}

} // namespace rdb
