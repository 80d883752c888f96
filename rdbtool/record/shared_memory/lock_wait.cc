// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/shared_memory/lock_wait.h"

#include "rdbtool/guest/signals/host_signals.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <optional>

namespace rdb::record {
namespace {

constexpr long kSecond = 1'000'000'000;

timespec later(clockid_t clock, const timespec& by) {
  timespec result;
  clock_gettime(clock, &result);
  result.tv_sec += by.tv_sec + (result.tv_nsec + by.tv_nsec) / kSecond;
  result.tv_nsec = (result.tv_nsec + by.tv_nsec) % kSecond;
  return result;
}

bool earlier(const timespec& x, const timespec& y) {
  return x.tv_sec != y.tv_sec ? x.tv_sec < y.tv_sec : x.tv_nsec < y.tv_nsec;
}

} // namespace

int64_t wait_for_lock(guest::Machine& machine, const guest::SystemCall& call, const CallShape& shape,
                      const SyscallArgs& reachable, SharedPages& shared, RecordedBaton& baton) {
  using During = RecordedBaton::During;
  const SyscallArgs& a = call.arguments;
  int command = static_cast<int>(a[1]) & FUTEX_CMD_MASK;
  bool plain = command == FUTEX_WAIT;
  std::optional<timespec> deadline;
  bool usable = plain || command == FUTEX_WAIT_BITSET;
  clockid_t clock = !plain && a[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  if (usable && a[3] != 0) {
    timespec time;
    usable = machine.space().read(GuestAddr(a[3]), &time, sizeof time) == sizeof time && time.tv_sec >= 0 &&
             time.tv_sec < kSecond * 4 && time.tv_nsec >= 0 && time.tv_nsec < kSecond;
    if (usable) deadline = plain ? later(clock, time) : time;
  }
  if (!usable) return baton.call_kernel(shape, reachable, During::given_away);
  SyscallArgs part = reachable;
  part[1] = FUTEX_WAIT_BITSET | (clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0);
  if (plain) part[5] = FUTEX_BITSET_MATCH_ANY;
  for (;;) {
    constexpr timespec kPatience{0, 50'000'000};
    timespec until = later(clock, kPatience);
    bool last = deadline && earlier(*deadline, until);
    if (last) until = *deadline;
    part[3] = reinterpret_cast<uint64_t>(&until);
    shared.let_go();
    int64_t result = baton.call_kernel(shape, part, During::given_away);
    if (result == -EINTR && !deadline) {
      // Without a time limit the kernel would have begun again after most handlers.
      const guest::SignalAction& action = machine.action(machine.current().received.number);
      if (action.flags & SA_RESTART) return guest::kNotStarted;
    }
    if (result != -ETIMEDOUT || last) return result;
    shared.mark_lock_of_dead(machine, GuestAddr(a[0]));
  }
}

} // namespace rdb::record
