// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A path is walked one name at a time, each step from a descriptor of the folder before. So what was checked
// is what is opened: nothing is looked up a second time by its whole path.
#include "rdbtool/base/trusted_file.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>

namespace rdb {
namespace {

constexpr int kMaxLinks = 40; // as many as the kernel follows

enum class FileKind { file, folder };

class PathWalk {
public:
  explicit PathWalk(const std::string& path) {
    std::filesystem::path whole = std::filesystem::absolute(path);
    begin_at_root();
    add(whole.string());
    if (left_.empty()) left_.emplace_back("."); // the root itself
  }

  OwnedFd open(FileKind kind, LastLink last) {
    while (left_.size() > 1 || (last == LastLink::follow && is_link(left_.front())))
      step();
    // A folder is checked as one of those above it, and may not be open by its sticky bit.
    std::string name = left_.front();
    int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    OwnedFd found(
        openat(folder_.get(), name.c_str(), kind == FileKind::folder ? flags | O_DIRECTORY : flags));
    std::string where = join(name);
    if (!found) {
      int error = errno;
      if (error == ELOOP || is_link(name))
        user_error("{}: is a link, which could lead to another file at any time; name the file itself",
                   where);
      throw std::system_error(error, std::generic_category(), where + ": cannot open");
    }
    struct stat status = {};
    if (fstat(found.get(), &status) != 0)
      throw std::system_error(errno, std::generic_category(), where + ": cannot open");
    if (kind == FileKind::file && !S_ISREG(status.st_mode)) user_error("{}: not a regular file", where);
    check(where, status, false);
    return found;
  }

private:
  void begin_at_root() {
    folder_ = OwnedFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    at_.clear();
    struct stat status = {};
    if (!folder_ || fstat(folder_.get(), &status) != 0)
      throw std::system_error(errno, std::generic_category(), "/: cannot open");
    check("/", status, true);
  }

  // Puts the names of a path before those that are left.
  void add(const std::string& path) {
    std::deque<std::string> names;
    for (const std::filesystem::path& part : std::filesystem::path(path).relative_path())
      if (!part.empty() && part != ".") names.push_back(part.string());
    left_.insert(left_.begin(), names.begin(), names.end());
  }

  std::string join(const std::string& name) const { return at_ + "/" + name; }

  bool is_link(const std::string& name) const {
    struct stat status = {};
    return fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
  }

  void step() {
    std::string name = std::move(left_.front());
    left_.pop_front();
    OwnedFd next(openat(folder_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (!next || fstat(next.get(), &status) != 0)
      throw std::system_error(errno, std::generic_category(), join(name) + ": cannot open");
    if (S_ISLNK(status.st_mode)) {
      follow(next.get(), name, status);
      return;
    }
    if (!S_ISDIR(status.st_mode))
      throw std::system_error(ENOTDIR, std::generic_category(), join(name) + ": cannot open");
    std::string where = join(name);
    if (name == "..") {
      size_t slash = at_.rfind('/');
      at_.erase(slash == std::string::npos ? 0 : slash);
      where = at_.empty() ? "/" : at_;
    } else {
      at_ = where;
    }
    check(where, status, true);
    folder_ = std::move(next);
  }

  void follow(int link, const std::string& name, const struct stat& status) {
    if (!is_ours(status.st_uid))
      user_error("{}: a link that belongs to another user ({}), who could let it lead to another file",
                 join(name), status.st_uid);
    if (++links_ > kMaxLinks) throw std::system_error(ELOOP, std::generic_category(), join(name));
    std::string target(PATH_MAX, '\0');
    ssize_t size = readlinkat(link, "", target.data(), target.size());
    if (size < 0) throw std::system_error(errno, std::generic_category(), join(name) + ": cannot open");
    target.resize(static_cast<size_t>(size));
    if (target.starts_with('/')) begin_at_root();
    add(target);
  }

  static bool is_ours(uid_t owner) { return owner == 0 || owner == geteuid(); }

  static void check(const std::string& where, const struct stat& status, bool sticky_allowed) {
    if (!is_ours(status.st_uid))
      user_error("{}: belongs to another user ({}), who could change what is run", where, status.st_uid);
    bool open_to_others = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    // In a folder with the sticky bit only owners replace their files.
    if (open_to_others && !(sticky_allowed && (status.st_mode & S_ISVTX) != 0))
      user_error(
          "{}: other users can write to it and so change what is run (chmod go-w makes it yours alone)",
          where);
  }

  OwnedFd folder_;
  std::string at_; // the path of folder_, without the last slash
  std::deque<std::string> left_;
  int links_ = 0;
};

} // namespace

OwnedFd open_trusted_file(const std::string& path, LastLink last) {
  return PathWalk(path).open(FileKind::file, last);
}

OwnedFd open_trusted_folder(const std::string& path) {
  return PathWalk(path).open(FileKind::folder, LastLink::refuse);
}

std::string why_not_trusted_as(const std::string& path, const std::string& program) {
  struct stat file = {}, model = {};
  if (stat(path.c_str(), &file) != 0 || stat(program.c_str(), &model) != 0)
    return fmt::format("{}: {}", path, std::generic_category().message(errno));
  bool owned = file.st_uid == 0 || file.st_uid == geteuid() || file.st_uid == model.st_uid;
  mode_t open_to = file.st_mode & (S_IWGRP | S_IWOTH);
  bool as_open = (open_to & ~model.st_mode) == 0 && ((open_to & S_IWGRP) == 0 || file.st_gid == model.st_gid);
  if (owned && as_open) return "";
  return fmt::format("{}: others can change it than can change {}", path, program);
}

std::string why_not_trusted(const std::string& path, LastLink last) {
  try {
    open_trusted_file(path, last);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

} // namespace rdb
