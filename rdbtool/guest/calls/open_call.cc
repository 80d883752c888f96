// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/open_call.h"

#include "rdbtool/syscalls/table.h"

#include <fcntl.h>
#include <sys/syscall.h>

namespace rdb::guest {

uint64_t open_flags(const SystemCall& call, AddressSpace& space) {
  if (call.number == SYS_creat) return O_CREAT | O_WRONLY | O_TRUNC;
  if (call.number == SYS_openat2) {
    uint64_t flags = 0; // the first member of struct open_how
    space.read(GuestAddr(call.arguments[2]), &flags, sizeof flags);
    return flags;
  }
  const SyscallInfo* info = find_syscall(static_cast<uint64_t>(call.number));
  for (unsigned i = 0; info != nullptr && i < info->arg_count; ++i)
    if (info->args[i].names == NameSet::open_flags) return call.arguments[i];
  return 0;
}

} // namespace rdb::guest
