// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/host/privileges.h"

#include <cstdint>
#include <cstring>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

// Whether the kernel looks at such things at all.
bool may_gain(const std::string& path) {
  struct statvfs system;
  bool allowed = statvfs(path.c_str(), &system) != 0 || !(system.f_flag & ST_NOSUID);
  return allowed && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

bool changes_user(const struct stat& file) {
  return file.st_mode & S_ISUID && file.st_uid != geteuid();
}

bool changes_group(const struct stat& file) {
  return file.st_mode & S_ISGID && file.st_mode & S_IXGRP && file.st_gid != getegid();
}

uint64_t own_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return 0;
  return data[0].permitted | uint64_t{data[1].permitted} << 32;
}

uint64_t file_capabilities(const std::string& path) {
  vfs_ns_cap_data data{};
  if (getxattr(path.c_str(), "security.capability", &data, sizeof data) <
      static_cast<ssize_t>(sizeof data.magic_etc))
    return 0;
  return data.data[0].permitted | uint64_t{data.data[1].permitted} << 32;
}

} // namespace

std::string changed_identity(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0 || !may_gain(path)) return "";
  return changes_user(file) ? "set-user-id" : changes_group(file) ? "set-group-id" : "";
}

std::string lost_privileges(const std::string& path) {
  if (std::string identity = changed_identity(path); !identity.empty()) return "is " + identity;
  if (!may_gain(path)) return "";
  return file_capabilities(path) & ~own_capabilities() ? "has file capabilities" : "";
}

} // namespace rdb::guest
