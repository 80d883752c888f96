// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/outside_writers.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/syscalls/call_properties.h"

#include <algorithm>
#include <cstdlib>
#include <dirent.h>
#include <fmt/format.h>
#include <fstream>
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace rdb::record {
namespace {

// Whether a process has the file mapped shared and writable.
bool can_write(int32_t pid, uint64_t device, uint64_t inode) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  std::string where = fmt::format(" {:02x}:{:02x} {} ", major(device), minor(device), inode);
  for (std::string line; std::getline(maps, line);) {
    size_t access = line.find(' ');
    bool writes = line.size() > access + 4 && line[access + 2] == 'w' && line[access + 4] == 's';
    if (writes && line.find(where, access) != std::string::npos) return true;
  }
  return false;
}

std::string name_of(int32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  return fmt::format("process {} ({})", pid, name);
}

} // namespace

void OutsideWriters::mapped(const guest::Mapping& mapping, int fd) {
  for (const auto& [number, file] : files_)
    if (file.device == mapping.device && file.inode == mapping.inode) return;
  WatchedFile file{mapping.device, mapping.inode, mapping.name, mapping.segment, true, false};
  int number = -1;
  while (files_.contains(number))
    --number;
  if (fd >= 0) {
    // Files of libraries and of caches are opened by everybody, and nobody writes to them.
    struct statfs info;
    bool in_memory = fstatfs(fd, &info) == 0 && info.f_type == TMPFS_MAGIC;
    file.open_matters = mapping.may_write || in_memory;
    if (notifications_ < 0)
      notifications_ = guest::move_out_of_reach(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    number = inotify_add_watch(notifications_, fmt::format("/proc/self/fd/{}", fd).c_str(),
                               IN_MODIFY | IN_CLOSE_WRITE | (file.open_matters ? IN_OPEN : 0));
    if (number < 0) return;
  }
  has_segments_ |= file.segment;
  WatchedFile& added = files_[number] = file;
  if (added.open_matters) name_process(added);
}

void OutsideWriters::look(const guest::SystemCall& call, int64_t result, uint64_t changed_inode) {
  if (notifications_ >= 0) look_at_events(call, result, changed_inode);
  if (!has_segments_) return;
  for (auto& [number, file] : files_)
    if (file.segment && !file.told) look_at_segment(file);
}

void OutsideWriters::look_at_events(const guest::SystemCall& call, int64_t result, uint64_t changed_inode) {
  alignas(inotify_event) char events[4096];
  ssize_t size = read(notifications_, events, sizeof events);
  if (size <= 0) return;
  // Of those that open a file, one is this process's own.
  struct stat opened = {};
  if (properties_of(call.number).opens && result >= 0) fstat(static_cast<int>(result), &opened);
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(events + at);
    at += static_cast<ssize_t>(sizeof *event + event->len);
    auto known = files_.find(event->wd);
    if (known == files_.end() || known->second.told) continue;
    WatchedFile& file = known->second;
    bool shared = is_shared_(file.device, file.inode);
    if (event->mask & IN_MODIFY && file.inode != changed_inode && !shared)
      tell(file, "another process has written to it");
    // It may have written through a mapping of its own, which is closed together with the file.
    bool own_close = properties_of(call.number).descriptors == DescriptorEffect::moves;
    if (event->mask & IN_CLOSE_WRITE && !own_close && !shared && !is_recorded_(0))
      tell(file, "another process had it open for writing");
    if (!(event->mask & IN_OPEN)) continue;
    if (opened.st_ino == file.inode && opened.st_dev == file.device) {
      opened = {};
      continue;
    }
    // It may have been another recorded process, which is gone or does not write.
    if (!name_process(file) && !shared && !is_recorded_(0)) tell(file, "another process has opened it");
  }
}

void OutsideWriters::mappings_changed(const guest::AddressSpace& space) {
  std::erase_if(files_, [&](const auto& entry) {
    const WatchedFile& file = entry.second;
    bool mapped = std::ranges::any_of(space.mappings(), [&](const auto& other) {
      return other.second.inode == file.inode && other.second.device == file.device;
    });
    if (!mapped && !file.segment) inotify_rm_watch(notifications_, entry.first);
    return !mapped;
  });
}

void OutsideWriters::skip_own() {
  char events[4096];
  while (notifications_ >= 0 && read(notifications_, events, sizeof events) > 0)
    continue;
}

void OutsideWriters::look_at_segment(WatchedFile& file) {
  shmid_ds info;
  if (shmctl(static_cast<int>(file.inode), IPC_STAT, &info) != 0) return;
  if (info.shm_lpid != 0 && info.shm_lpid != getpid() && !is_recorded_(info.shm_lpid))
    tell(file, fmt::format("{} has attached it", name_of(info.shm_lpid)));
}

void OutsideWriters::look_again() {
  if (notifications_ >= 0) look_at_events({}, -1, 0);
  for (auto& [number, file] : files_)
    if (file.open_matters && !file.told) name_process(file);
}

// Says who else can write there, if somebody is found who is not recorded.
bool OutsideWriters::name_process(WatchedFile& file) {
  DIR* all = opendir("/proc");
  if (all == nullptr) return false;
  while (dirent* entry = file.told ? nullptr : readdir(all)) {
    auto pid = static_cast<int32_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0 || pid == getpid() || !can_write(pid, file.device, file.inode)) continue;
    if (!is_recorded_(pid)) tell(file, fmt::format("{} has it mapped", name_of(pid)));
  }
  closedir(all);
  return file.told;
}

void OutsideWriters::tell(WatchedFile& file, const std::string& who) {
  if (file.told) return;
  file.told = true;
  note_(file.segment ? "a System V segment" : file.name);
  std::string line =
      fmt::format("rdb: not recorded: what other programs write to {}, which is mapped shared ({}); "
                  "a replay ends where that shows\n",
                  file.name, who);
  raw_syscall(SYS_write, guest::own_error_stream(), reinterpret_cast<int64_t>(line.data()),
              static_cast<int64_t>(line.size()));
}

void OutsideWriters::forget() {
  if (notifications_ >= 0) guest::close_own_descriptor(notifications_);
  notifications_ = -1;
  files_.clear();
  has_segments_ = false;
}

} // namespace rdb::record
