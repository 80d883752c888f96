// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See bundle.h.
#include "llvm-passes/link/bundle.h"

#include "rdbtool/base/error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace rdb::link {

namespace fs = std::filesystem;

std::string bundle_path(const std::string& program) {
  return program + ".rdb";
}

BundleWriter::BundleWriter(const std::string& program) : target_(bundle_path(program)) {
  folder_ = target_ + ".new-XXXXXX";
  if (mkdtemp(folder_.data()) == nullptr) {
    std::string name = std::exchange(folder_, "");
    user_error("cannot make '{}': {}", name, std::strerror(errno));
  }
  // mkdtemp's mode is private; a bundle is as readable as what a compiler writes.
  mode_t mask = umask(0);
  umask(mask);
  chmod(folder_.c_str(), 0777 & ~mask);
}

BundleWriter::~BundleWriter() {
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

void BundleWriter::write(const std::string& name, const std::string& content) const {
  std::error_code error;
  fs::create_directories(fs::path(path(name)).parent_path(), error);
  std::ofstream out(path(name), std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) user_error("cannot write '{}'", path(name));
}

void BundleWriter::write_source(const std::string& name, const std::string& content) const {
  write(name, content);
  constexpr timespec kLongAgo{315532800, 0}; // 1980, the oldest time that every archive format knows
  timespec times[2] = {kLongAgo, kLongAgo};
  utimensat(AT_FDCWD, path(name).c_str(), times, 0);
}

void BundleWriter::publish() {
  if (rename(folder_.c_str(), target_.c_str()) == 0) {
    folder_.clear();
    return;
  }
  if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
    user_error("cannot make '{}': {}", target_, std::strerror(errno));
  if (!fs::is_directory(target_)) user_error("'{}' is in the way: it is not a folder", target_);
  if (renameat2(AT_FDCWD, folder_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) return;
  // A file system without exchange: a reader may find no bundle for a moment, never half of one.
  std::string old = folder_ + ".old";
  if (rename(target_.c_str(), old.c_str()) != 0 || rename(folder_.c_str(), target_.c_str()) != 0)
    user_error("cannot replace '{}': {}", target_, std::strerror(errno));
  folder_ = old;
}

void remove_bundle(const std::string& program) {
  std::string path = bundle_path(program);
  std::error_code error;
  if (fs::is_regular_file(path + "/descriptors", error)) fs::remove_all(path, error);
}

} // namespace rdb::link
