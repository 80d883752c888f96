// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See bundle.h.
#include "llvm-passes/link/bundle.h"

#include "descriptors/words.h"
#include "rdbtool/base/error.h"
#include "rdbtool/base/known_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rdb::link {

namespace fs = std::filesystem;

std::string bundle_path(const std::string& program) {
  return program + ".rdb";
}

namespace {

bool belongs_to_bundle(const std::string& name, bool is_folder) {
  size_t slashes = static_cast<size_t>(std::count(name.begin(), name.end(), '/'));
  bool source = name.starts_with("sources/"); // sources/NUMBER/NAME
  bool twin = name.starts_with("twins/") && name.ends_with(".o");
  if (is_folder) return name == "sources" || name == "twins" || (source && slashes == 1);
  return name == "descriptors" || name == "module.so" || (source && slashes == 2) || (twin && slashes == 1);
}

// Why a folder is not a bundle that rdb-clang has made, and nothing but that; empty if it is one.
std::string why_no_bundle(const std::string& path) {
  try {
    if (std::string stranger = KnownFolder(path, belongs_to_bundle).stranger(); !stranger.empty())
      return fmt::format("it holds '{}'", stranger);
  } catch (const std::exception& error) {
    return error.what();
  }
  std::ifstream file(path + "/descriptors", std::ios::binary);
  std::string first;
  std::getline(file, first);
  return first.starts_with(descriptors::kFirstLine) ? "" : "it has no descriptors";
}

void remove_bundle_at(const std::string& path) {
  try {
    KnownFolder(path, belongs_to_bundle).remove("descriptors");
  } catch (const std::system_error& error) {
    user_error("{}", error.what());
  }
}

} // namespace

BundleWriter::BundleWriter(const std::string& program) : target_(bundle_path(program)) {
  check_target();
  folder_ = target_ + ".new-XXXXXX";
  if (mkdtemp(folder_.data()) == nullptr) {
    std::string name = std::exchange(folder_, "");
    user_error("cannot make '{}': {}", name, std::strerror(errno));
  }
}

BundleWriter::~BundleWriter() {
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

// Only a bundle is replaced: whatever else has that name is the user's.
void BundleWriter::check_target() const {
  struct stat status = {};
  std::error_code error;
  if (lstat(target_.c_str(), &status) != 0) return;
  if (!S_ISDIR(status.st_mode)) user_error("'{}' is in the way: it is not a folder", target_);
  if (fs::is_empty(target_, error)) return;
  if (std::string why = why_no_bundle(target_); !why.empty())
    user_error("'{}' is in the way: not a bundle that rdb-clang made ({})", target_, why);
}

// A bundle is as readable as what a compiler writes. But nobody else may change it, whatever the umask says:
// rdb loads no other.
void BundleWriter::set_modes() const {
  mode_t mask = umask(0);
  umask(mask);
  mask |= S_IWGRP | S_IWOTH;
  chmod(folder_.c_str(), 0777 & ~mask);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_, error))
    chmod(entry.path().c_str(), static_cast<mode_t>(entry.status().permissions()) & 0777 & ~mask);
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
  set_modes();
  if (rename(folder_.c_str(), target_.c_str()) == 0) {
    folder_.clear();
    return;
  }
  if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
    user_error("cannot make '{}': {}", target_, std::strerror(errno));
  check_target();
  std::string old = std::exchange(folder_, "");
  if (renameat2(AT_FDCWD, old.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
    // A file system without exchange: a reader may find no bundle for a moment, never half of one.
    folder_ = std::exchange(old, old + ".old");
    if (rename(target_.c_str(), old.c_str()) != 0 || rename(folder_.c_str(), target_.c_str()) != 0)
      user_error("cannot replace '{}': {}", target_, std::strerror(errno));
    folder_.clear();
  }
  remove_bundle_at(old);
}

void remove_bundle(const std::string& program) {
  std::string path = bundle_path(program);
  struct stat status = {};
  if (lstat(path.c_str(), &status) == 0 && why_no_bundle(path).empty()) remove_bundle_at(path);
}

} // namespace rdb::link
