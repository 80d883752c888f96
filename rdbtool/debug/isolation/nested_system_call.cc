// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls of guest functions that debug code has called: what can be answered without changing anything
// is, all others end the call.
#include "rdbtool/debug/isolation/abort_debug_code.h"
#include "rdbtool/debug/isolation/nested_call.h"
#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/syscalls/describe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::debug {

int64_t NestedCalls::map_memory(const SyscallArgs& arguments) {
  int64_t begin = machine_.space().mmap(0, arguments[1], static_cast<int>(arguments[2]),
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin > 0) log_.add_mapping(static_cast<uint64_t>(begin), guest::page_up(arguments[1]));
  return begin;
}

// The first malloc asks for some random bytes. They are the same every time.
int64_t NestedCalls::give_random(uint64_t to, uint64_t size) {
  constexpr uint64_t kMost = 256;
  std::array<uint8_t, kMost> bytes;
  bytes.fill(0x5A);
  size = std::min(size, kMost);
  return log_.store(to, bytes.data(), size) ? static_cast<int64_t>(size) : -EFAULT;
}

int64_t NestedCalls::system_call() {
  guest::SystemCall call = guest::call_in(engine_.registers());
  const SyscallArgs& a = call.arguments;
  guest::AddressSpace& space = machine_.space();
  switch (call.number) {
  case SYS_write:
  case SYS_writev:
    if (a[0] != 1 && a[0] != 2) break;
    return output_.write(static_cast<int>(a[0]), a[1], a[2], call.number == SYS_writev);
  case SYS_fstat:
  case SYS_newfstatat:
    // Asked by stdio before it prints for the first time. Without an answer it takes a buffer of the usual
    // size.
    if ((a[0] != 1 && a[0] != 2) || (call.number == SYS_newfstatat && !(a[3] & AT_EMPTY_PATH))) break;
    return -EBADF;
  case SYS_brk:
    // It stays where it is, as if there were no room: malloc falls back to mmap.
    return static_cast<int64_t>(space.brk_end());
  case SYS_mmap:
    if (!(a[3] & MAP_ANONYMOUS) || a[3] & MAP_FIXED) break;
    return map_memory(a);
  case SYS_munmap:
    return 0; // its own is gone when the region ends; the program's is still there then
  case SYS_mremap:
    return -ENOMEM; // realloc copies instead
  case SYS_mprotect:
    if (log_.is_own(a[0], guest::page_up(a[1]))) return space.mprotect(a[0], a[1], static_cast<int>(a[2]));
    break;
  case SYS_madvise:
    if (a[2] != MADV_DONTNEED && a[2] != MADV_FREE && a[2] != MADV_REMOVE) return 0;
    if (!log_.is_own(a[0], guest::page_up(a[1]))) break;
    return space.madvise(a[0], a[1], MADV_DONTNEED);
  case SYS_getrandom:
    return give_random(a[0], a[1]);
  case SYS_rt_sigprocmask: {
    // Nothing is delivered meanwhile, whatever the mask is.
    uint64_t mask = machine_.mask();
    return a[2] == 0 || log_.store(a[2], &mask, sizeof mask) ? 0 : -EFAULT;
  }
  case SYS_futex:
    if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) return 0; // nobody else runs meanwhile
    if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT || (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
      abort_debug_code(
          fmt::format("a call into the program waits for a lock at {:#x} that another thread holds", a[0]));
    break;
  default:
    break;
  }
  abort_debug_code(fmt::format(
      "a call into the program made a system call that debug code must not make: {}",
      describe_call(static_cast<uint64_t>(call.number), a, std::nullopt, guest::SpaceView(space))));
}

} // namespace rdb::debug
