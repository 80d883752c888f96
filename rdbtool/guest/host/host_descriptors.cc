// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/host/host_descriptors.h"

#include "rdbtool/base/log.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

// Far enough up for most programs' loops over all descriptors, low enough that the kernel's table of them,
// which every fork copies, stays small.
constexpr int kHighest = 4096;
constexpr int kSlots = 64;

// Descriptors belong to the process, whoever in it opens them; so what is known of them does as well.
uint64_t g_used = 0;     // of the numbers from first_slot() on
unsigned g_occupied = 0; // standard streams: a bit each

int first_slot() {
  static const int first = [] {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    // Where there are few, the program gets half of them.
    int most = static_cast<int>(std::min<rlim_t>(files.rlim_max, kHighest));
    return most - std::min(kSlots, most / 2);
  }();
  return first;
}

void note(int fd) {
  int slot = fd - first_slot();
  if (slot >= 0 && slot < kSlots) g_used |= 1ull << slot;
}

} // namespace

int duplicate_out_of_reach(int fd) {
  int first = first_slot();
  // A limit concerns new descriptors only: it can be as low as the guest likes afterwards.
  rlimit old{};
  getrlimit(RLIMIT_NOFILE, &old);
  rlimit raised{old.rlim_max, old.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, first);
  setrlimit(RLIMIT_NOFILE, &old);
  note(copy);
  return copy;
}

int move_out_of_reach(int fd) {
  if (fd < 0 || is_own_descriptor(fd)) return fd;
  int moved = duplicate_out_of_reach(fd);
  if (moved < 0) return fd;
  close(fd);
  return moved;
}

int adopt_own_descriptor(int fd) {
  if (fd < 0) return fd;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  note(fd);
  return fd;
}

int own_error_stream() {
  static const int stream = [] {
    int fd = move_out_of_reach(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    set_log_stream(fd);
    return fd;
  }();
  return stream;
}

void occupy_closed_streams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is taken: this one.
    int opened = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened == fd)
      g_occupied |= 1u << fd;
    else if (opened >= 0)
      close(opened);
  }
}

void release_occupied_streams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (g_occupied >> fd & 1) close(fd);
  g_occupied = 0;
}

void close_own_descriptor(int fd) {
  close(fd);
  int slot = fd - first_slot();
  if (slot >= 0 && slot < kSlots) g_used &= ~(1ull << slot);
}

bool is_own_descriptor(int fd) {
  int slot = fd - first_slot();
  return slot >= 0 && slot < kSlots && g_used >> slot & 1;
}

int next_own_descriptor(int fd) {
  int slot = std::max(fd - first_slot(), 0);
  if (slot >= kSlots) return -1;
  uint64_t left = g_used >> slot << slot;
  return left == 0 ? -1 : first_slot() + std::countr_zero(left);
}

} // namespace rdb::guest
