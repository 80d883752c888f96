// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/shared_memory/process_liveness.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

namespace rdb::record {
namespace {

struct Stat {
  char state = 0;
  unsigned flags = 0; // PF_EXITING ...
  long threads = 0;
};

Stat stat_of(uint32_t pid) {
  char text[512];
  std::snprintf(text, sizeof text, "/proc/%u/stat", pid);
  int fd = open(text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM ? 'R' : '\0', 0, 1};
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[std::max<ssize_t>(n, 0)] = 0;
  const char* after_name = std::strrchr(text, ')');
  Stat result;
  // Of the numbers after the state, the sixth are the flags and the seventeenth counts the threads.
  if (after_name == nullptr) return result;
  std::istringstream fields(after_name + 1);
  fields >> result.state;
  long long number = 0;
  for (int i = 1; i <= 17 && fields >> number; ++i) {
    if (i == 6) result.flags = static_cast<unsigned>(number);
    if (i == 17) result.threads = static_cast<long>(number);
  }
  return result;
}

bool is_dead(const Stat& stat) {
  // The first thread may end before the others.
  return stat.state == 0 || stat.state == 'X' || (stat.state == 'Z' && stat.threads <= 1);
}

} // namespace

char state_of(uint32_t pid) {
  return stat_of(pid).state;
}

bool is_alive(uint32_t pid) {
  return !is_dead(stat_of(pid));
}

bool is_alive_for_good(uint32_t pid) {
  constexpr unsigned kExiting = 4; // PF_EXITING
  for (;;) {
    Stat stat = stat_of(pid);
    if (is_dead(stat)) return false;
    if (!(stat.flags & kExiting) || stat.state == 'Z') return true;
    timespec moment{0, 200'000};
    nanosleep(&moment, nullptr);
  }
}

} // namespace rdb::record
