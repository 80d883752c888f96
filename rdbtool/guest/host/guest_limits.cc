// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/host/guest_limits.h"

#include "rdbtool/guest/host/own_limits.h"
#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/syscalls/call_properties.h"

#include <algorithm>
#include <cerrno>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

// What counts as data for RLIMIT_DATA: private and writable.
bool is_data(const Mapping& mapping) {
  return mapping.protection & PROT_WRITE && mapping.flags & MAP_PRIVATE && mapping.name != "[stack]";
}

bool may_raise_limits() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  return data[0].effective >> CAP_SYS_RESOURCE & 1;
}

} // namespace

GuestLimits::GuestLimits() {
  for (int resource : kKept) {
    limits_[static_cast<size_t>(resource)] = limit_at_start(resource);
  }
  note_limits();
}

bool GuestLimits::keeps(int resource) {
  return std::find(std::begin(kKept), std::end(kKept), resource) != std::end(kKept);
}

int GuestLimits::set(int resource, const rlimit& limit) {
  rlimit& old = limits_[static_cast<size_t>(resource)];
  if (limit.rlim_cur > limit.rlim_max) return -EINVAL;
  if (limit.rlim_max > old.rlim_max && !may_raise_limits()) return -EPERM;
  old = limit;
  note_limits();
  return 0;
}

void GuestLimits::restore(int resource, const rlimit& limit) {
  limits_[static_cast<size_t>(resource)] = limit;
  note_limits();
}

void GuestLimits::note_limits() {
  any_ = get(RLIMIT_AS).rlim_cur != RLIM_INFINITY || get(RLIMIT_DATA).rlim_cur != RLIM_INFINITY;
}

int GuestLimits::check_memory_call(const AddressSpace& space, const SystemCall& call) const {
  if (!any_) return 0;
  const SyscallArgs& a = call.arguments;
  uint64_t total = 0;
  uint64_t data = 0;
  for (const auto& [begin, mapping] : space.mappings()) {
    total += mapping.end - mapping.begin;
    if (is_data(mapping)) data += mapping.end - mapping.begin;
  }
  uint64_t more = 0;
  bool more_data = false;
  switch (properties_of(call.number).mapping) {
  case MappingChange::map: {
    more = page_up(a[1]);
    more_data = a[2] & PROT_WRITE && a[3] & MAP_PRIVATE;
    break;
  }
  case MappingChange::move:
    if (a[2] > a[1]) more = page_up(a[2]) - page_up(a[1]);
    more_data = true;
    break;
  case MappingChange::set_break: {
    uint64_t top = space.brk_end();
    if (a[0] > top) more = page_up(a[0]) - page_up(top);
    more_data = true;
    break;
  }
  default:
    return 0;
  }
  if (more == 0) return 0;
  if (total + more > get(RLIMIT_AS).rlim_cur) return -ENOMEM;
  if (more_data && data + more > get(RLIMIT_DATA).rlim_cur) return -ENOMEM;
  return 0;
}

} // namespace rdb::guest
