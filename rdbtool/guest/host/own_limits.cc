// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/host/own_limits.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <cstddef>
#include <pthread.h>
#include <string_view>
#include <unistd.h>

namespace rdb::guest {
namespace {

constexpr rlim_t kWantedStack = 8 << 20;
constexpr rlim_t kLeastStack = 512 << 10;

struct Kept {
  __rlimit_resource resource;
  rlimit limit;
};
// Limits belong to the process, and are lifted before the first constructor runs: so these are variables of
// the process that need none.
bool lifted_any = false;
Kept kept[] = {{RLIMIT_DATA, {}}, {RLIMIT_STACK, {}}, {RLIMIT_AS, {}}};

// Threads get stacks of the size that the limit had when libc was started.
void set_thread_stacks() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, kWantedStack);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

void lift_stack(const rlimit& old) {
  if (old.rlim_cur >= kWantedStack) return;
  // The second needs a privilege.
  for (rlim_t most : {old.rlim_max, std::max(old.rlim_max, kWantedStack)}) {
    rlimit lifted{std::min(most, kWantedStack), most};
    if (setrlimit(RLIMIT_STACK, &lifted) == 0 && lifted.rlim_cur == kWantedStack) break;
  }
  rlimit now{};
  getrlimit(RLIMIT_STACK, &now);
  if (now.rlim_cur < kLeastStack) {
    constexpr std::string_view kLine =
        "rdb: the limit of the stack's size is too low for rdb: it needs 512 KiB (ulimit -s 512)\n";
    [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, kLine.data(), kLine.size());
    _exit(kExitUsage);
  }
  set_thread_stacks();
}

} // namespace

void lift_own_limits() {
  lifted_any = true;
  for (Kept& one : kept) {
    getrlimit(one.resource, &one.limit);
    rlimit lifted{one.limit.rlim_max, one.limit.rlim_max};
    if (one.resource == RLIMIT_STACK)
      lift_stack(one.limit);
    else if (one.limit.rlim_cur != one.limit.rlim_max)
      setrlimit(one.resource, &lifted);
  }
}

rlimit limit_at_start(int resource) {
  for (const Kept& one : kept)
    if (lifted_any && static_cast<int>(one.resource) == resource) return one.limit;
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource>(resource), &now);
  return now;
}

void set_limit_at_start(int resource, const rlimit& limit) {
  for (Kept& one : kept)
    if (static_cast<int>(one.resource) == resource) one.limit = limit;
}

} // namespace rdb::guest
