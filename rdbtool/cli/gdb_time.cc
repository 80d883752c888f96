// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/gdb_time.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <sys/resource.h>

namespace rdb::cli {
namespace {

constexpr const char* kVariable = "RDB_GDB_SECONDS";
constexpr uint64_t kSeconds = 60;
constexpr uint64_t kBytesASecond = 1 << 20; // gdb reads debug information much faster
constexpr uint64_t kMost = 1'000'000;

// 0: the user has not chosen.
uint64_t chosen_seconds() {
  const char* word = std::getenv(kVariable);
  if (word == nullptr || *word == '\0') return 0;
  uint64_t seconds = 0;
  std::string_view text(word);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds == 0 || seconds > kMost)
    user_error("{}={}: expected a number of seconds from 1 to {}", kVariable, text, kMost);
  return seconds;
}

// The kernel ends a process that comes to its soft limit by SIGXCPU.
void set_limit(rlimit& limit, uint64_t seconds) {
  limit.rlim_cur = std::min<rlim_t>(seconds, limit.rlim_max);
}

} // namespace

GdbTime::GdbTime(uint64_t file_bytes) : seconds_(chosen_seconds()) {
  if (seconds_ == 0) seconds_ = std::min(kSeconds + file_bytes / kBytesASecond, kMost);
}

void GdbTime::limit_this_process() const {
  rlimit limit{};
  getrlimit(RLIMIT_CPU, &limit);
  set_limit(limit, seconds_);
  setrlimit(RLIMIT_CPU, &limit);
  rlimit no_core{};
  getrlimit(RLIMIT_CORE, &no_core);
  no_core.rlim_cur = 0;
  setrlimit(RLIMIT_CORE, &no_core);
}

void GdbTime::begin_again(pid_t gdb) const {
  clockid_t clock;
  timespec used{};
  rlimit limit{};
  if (clock_getcpuclockid(gdb, &clock) != 0 || clock_gettime(clock, &used) != 0 ||
      prlimit(gdb, RLIMIT_CPU, nullptr, &limit) != 0)
    return; // it has ended
  set_limit(limit, static_cast<uint64_t>(used.tv_sec) + 1 + seconds_);
  prlimit(gdb, RLIMIT_CPU, &limit, nullptr);
}

} // namespace rdb::cli
