// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/file_holes.h"

#include "rdbtool/base/raw_syscall.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

bool is_file(int fd, uint64_t device, uint64_t inode) {
  struct stat info;
  return fd >= 0 && fstat(fd, &info) == 0 && info.st_dev == device && info.st_ino == inode;
}

// The first of this process's descriptors for which `f` says true; -1: none.
template <class F>
int find_descriptor(F&& f) {
  DIR* all = opendir("/proc/self/fd");
  if (all == nullptr) return -1;
  int result = -1;
  while (dirent* entry = result < 0 ? readdir(all) : nullptr) {
    auto number = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
    if (entry->d_name[0] != '.' && number != dirfd(all) && f(number)) result = number;
  }
  closedir(all);
  return result;
}

} // namespace

int open_mapped_file(const Mapping& mapping) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  int fd = open(mapping.name.c_str(), kFlags);
  if (is_file(fd, mapping.device, mapping.inode)) return fd;
  if (fd >= 0) close(fd);
  // One of its own: to look for holes moves the position.
  fd = -1;
  find_descriptor([&](int number) {
    if (is_file(number, mapping.device, mapping.inode))
      fd = open(("/proc/self/fd/" + std::to_string(number)).c_str(), kFlags);
    return fd >= 0;
  });
  return fd;
}

bool is_open_for_writing(uint64_t device, uint64_t inode) {
  return find_descriptor([&](int number) {
           return is_file(number, device, inode) && (fcntl(number, F_GETFL) & O_ACCMODE) != O_RDONLY;
         }) >= 0;
}

FileHoles::FileHoles(const Mapping& mapping) : mapping_(mapping), fd_(-1) {
  if (mapping.copy >= 0 || mapping.copy == kNoFile)
    fd_ = mapping.copy;
  else if (!(mapping.flags & MAP_ANONYMOUS) && !mapping.segment)
    fd_ = open_mapped_file(mapping);
}

FileHoles::~FileHoles() {
  if (fd_ >= 0 && fd_ != mapping_.copy) close(fd_);
}

uint64_t FileHoles::next_data(uint64_t page) const {
  if (fd_ < 0) return page;
  uint64_t offset = mapping_.offset + (page - mapping_.begin);
  off_t data = lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0 && errno == ENXIO) return mapping_.end; // nothing but a hole, or the end
  if (data < 0) return page;
  return std::max(page, mapping_.begin + page_down(static_cast<uint64_t>(data) - mapping_.offset));
}

ReadableMeanwhile::ReadableMeanwhile(const Mapping& mapping, uint64_t begin, uint64_t end)
    : begin_(begin), protection_(host_protection(mapping.protection)) {
  if (protection_ & PROT_READ) return;
  size_ = end - begin;
  raw_syscall(SYS_mprotect, static_cast<int64_t>(begin_), static_cast<int64_t>(size_), PROT_READ);
}

ReadableMeanwhile::~ReadableMeanwhile() {
  if (size_ == 0) return;
  raw_syscall(SYS_mprotect, static_cast<int64_t>(begin_), static_cast<int64_t>(size_), protection_);
}

} // namespace rdb::guest
