// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/base/known_folder.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/path.h"

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <vector>

namespace rdb {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::system_error(errno, std::generic_category(), path + ": " + what);
}

OwnedFd open_folder(int parent, const std::string& name) {
  return OwnedFd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> names_in(int folder, const std::string& path) {
  OwnedFd copy = open_folder(folder, ".");
  std::unique_ptr<DIR, int (*)(DIR*)> entries(copy ? fdopendir(copy.get()) : nullptr, closedir);
  if (!entries) fail(path, "cannot read");
  copy.release();
  std::vector<std::string> names;
  while (const dirent* entry = readdir(entries.get()))
    if (std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  return names;
}

// The kind of a file by its mode; 0 if it is gone.
mode_t kind_of(int folder, const std::string& name) {
  struct stat status = {};
  return fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_mode & S_IFMT : 0;
}

} // namespace

KnownFolder::KnownFolder(const std::string& path, Belongs belongs)
    : path_(path), belongs_(std::move(belongs)) {
  while (path_.size() > 1 && path_.ends_with('/'))
    path_.pop_back();
  std::string_view last = base_name(path_);
  if (last.empty() || last == "." || last == "..")
    user_error("{}: not removed: this is a place, not a name; give the folder's own name", path);
  folder_ = open_folder(AT_FDCWD, path_);
  if (!folder_ && (errno == ELOOP || errno == ENOTDIR))
    user_error("{}: not removed: a link or a file, not a folder", path_);
  if (!folder_) fail(path_, "cannot open");
}

std::string KnownFolder::stranger() const {
  return stranger_in(folder_.get(), "");
}

std::string KnownFolder::stranger_in(int folder, const std::string& prefix) const {
  for (const std::string& name : names_in(folder, path_ + "/" + prefix)) {
    std::string inside = prefix + name;
    mode_t kind = kind_of(folder, name);
    if ((kind != S_IFREG && kind != S_IFDIR) || !belongs_(inside, kind == S_IFDIR)) return inside;
    if (kind != S_IFDIR) continue;
    OwnedFd inner = open_folder(folder, name);
    if (!inner) fail(path_ + "/" + inside, "cannot open");
    if (std::string found = stranger_in(inner.get(), inside + "/"); !found.empty()) return found;
  }
  return "";
}

void KnownFolder::remove(const std::string& last) const {
  remove_in(folder_.get(), "", last);
  if (unlinkat(folder_.get(), last.c_str(), 0) != 0 && errno != ENOENT)
    fail(path_ + "/" + last, "cannot remove");
  if (rmdir(path_.c_str()) != 0) fail(path_, "cannot remove");
}

void KnownFolder::remove_in(int folder, const std::string& prefix, const std::string& last) const {
  for (const std::string& name : names_in(folder, path_ + "/" + prefix)) {
    std::string inside = prefix + name;
    mode_t kind = kind_of(folder, name);
    if ((kind != S_IFREG && kind != S_IFDIR) || !belongs_(inside, kind == S_IFDIR) || inside == last)
      continue;
    if (kind == S_IFDIR) {
      OwnedFd inner = open_folder(folder, name);
      if (!inner) fail(path_ + "/" + inside, "cannot open");
      remove_in(inner.get(), inside + "/", last);
    }
    if (unlinkat(folder, name.c_str(), kind == S_IFDIR ? AT_REMOVEDIR : 0) != 0)
      fail(path_ + "/" + inside, "cannot remove");
  }
}

} // namespace rdb
