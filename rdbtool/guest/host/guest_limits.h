// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guest's resource limits. Those that would hit the host in the same process (address space, data, stack)
// are kept here and checked by rdb; the kernel keeps the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <sys/resource.h>

namespace rdb::guest {

class AddressSpace;
struct SystemCall;

class GuestLimits {
public:
  // As this process was started with them.
  GuestLimits();

  static constexpr int kKept[] = {RLIMIT_DATA, RLIMIT_STACK, RLIMIT_AS};
  static bool keeps(int resource);
  const rlimit& get(int resource) const { return limits_[static_cast<size_t>(resource)]; }
  // 0 or -errno, as prlimit64.
  int set(int resource, const rlimit& limit);
  // For a program that another rdb has started: what that one kept.
  void restore(int resource, const rlimit& limit);

  // Whether a call that maps memory stays within the limits; 0 or -errno.
  int check_memory_call(const AddressSpace& space, const SystemCall& call) const;

private:
  void note_limits();

  std::array<rlimit, RLIM_NLIMITS> limits_{};
  bool any_ = false; // some limit of address space or data is set
};

} // namespace rdb::guest
