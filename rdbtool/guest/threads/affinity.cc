// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/affinity.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/process/machine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

int64_t address_of(const void* data) {
  return reinterpret_cast<int64_t>(data);
}

void set_own(const cpu_set_t& cpus) {
  raw_syscall(SYS_sched_setaffinity, 0, sizeof cpus, address_of(&cpus));
}

// As many bytes as the kernel's sets have here.
int64_t kernel_size() {
  cpu_set_t cpus{};
  return std::max<int64_t>(raw_syscall(SYS_sched_getaffinity, 0, sizeof cpus, address_of(&cpus)), 8);
}

std::vector<std::byte> bytes_of(const void* data, size_t size) {
  const auto* begin = static_cast<const std::byte*>(data);
  return {begin, begin + size};
}

} // namespace

void Affinity::pin(ThreadId self) {
  if (pinned_) return;
  CPU_ZERO(&before_);
  if (raw_syscall(SYS_sched_getaffinity, 0, sizeof before_, address_of(&before_)) < 0) return;
  int cpu = sched_getcpu();
  if (cpu < 0 || cpu >= CPU_SETSIZE || CPU_COUNT(&before_) < 2) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(cpu), &one);
  set_own(one);
  wanted_.clear();
  wanted_[self] = before_;
  pinned_ = true;
}

void Affinity::unpin(ThreadId self) {
  if (!pinned_) return;
  set_own(wanted(self));
  pinned_ = false;
}

void Affinity::inherit(ThreadId created, ThreadId maker) {
  if (pinned_) wanted_[created] = wanted(maker);
}

void Affinity::after_fork(ThreadId number_before) {
  unpin(number_before);
  wanted_.clear();
}

const cpu_set_t& Affinity::wanted(ThreadId thread) const {
  auto found = wanted_.find(thread);
  return found == wanted_.end() ? before_ : found->second;
}

std::optional<ComputedAnswer> Affinity::answer(Machine& machine, const SystemCall& call) {
  if (!pinned_) return std::nullopt;
  if (call.number == SYS_sched_getaffinity) return get(machine, call.arguments);
  if (call.number == SYS_sched_setaffinity) return set(machine, call.arguments);
  if (call.number == SYS_getcpu) return current_cpu(machine, call.arguments);
  return std::nullopt;
}

// A thread that asked for other CPUs than the one all are on believes to be on the first of its own.
std::optional<ComputedAnswer> Affinity::current_cpu(Machine& machine, const SyscallArgs& arguments) {
  const cpu_set_t& cpus = wanted(machine.current().id);
  int cpu = sched_getcpu();
  if (cpu < 0 || CPU_ISSET(static_cast<size_t>(cpu), &cpus)) return std::nullopt;
  uint32_t first = 0;
  while (!CPU_ISSET(first, &cpus))
    ++first;
  ComputedAnswer answer;
  const uint32_t node = 0;
  if (arguments[0] != 0) answer.writes.push_back({GuestAddr(arguments[0]), bytes_of(&first, sizeof first)});
  if (arguments[1] != 0) answer.writes.push_back({GuestAddr(arguments[1]), bytes_of(&node, sizeof node)});
  return answer;
}

std::optional<ComputedAnswer> Affinity::get(Machine& machine, const SyscallArgs& arguments) {
  ThreadId thread(static_cast<int32_t>(arguments[0]));
  if (thread.value == 0) thread = machine.current().id;
  if (machine.find_thread(thread) == nullptr) return std::nullopt;
  int64_t size = kernel_size();
  if (arguments[1] < static_cast<uint64_t>(size) || arguments[1] % 8 != 0) return ComputedAnswer{-EINVAL, {}};
  return ComputedAnswer{size,
                        {{GuestAddr(arguments[2]), bytes_of(&wanted(thread), static_cast<size_t>(size))}}};
}

std::optional<ComputedAnswer> Affinity::set(Machine& machine, const SyscallArgs& arguments) {
  ThreadId thread(static_cast<int32_t>(arguments[0]));
  if (thread.value == 0) thread = machine.current().id;
  if (machine.find_thread(thread) == nullptr) return std::nullopt;
  cpu_set_t asked;
  CPU_ZERO(&asked);
  size_t size = std::min<uint64_t>(arguments[1], sizeof asked);
  if (machine.space().read(GuestAddr(arguments[2]), &asked, size) != size) return ComputedAnswer{-EFAULT, {}};
  CPU_AND(&asked, &asked, &before_);
  if (CPU_COUNT(&asked) == 0) return ComputedAnswer{-EINVAL, {}};
  wanted_[thread] = asked;
  return ComputedAnswer{0, {}};
}

} // namespace rdb::guest
