// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the kernel refuses of a futex operation before it looks at any word. The kernel does not see these
// calls, so the checks are made here, in its order: which of several errors a program gets depends on it.
#include "rdbtool/guest/threads/futex.h"

#include <cerrno>
#include <initializer_list>
#include <linux/futex.h>

namespace rdb::guest {
namespace {

constexpr uint64_t kLastUserAddress = 0x7ffffffff000;

int64_t first_error(std::initializer_list<int64_t> errors) {
  for (int64_t error : errors)
    if (error != 0) return error;
  return 0;
}

} // namespace

// A word that is private to the process is known by its address alone. For others the kernel looks for the
// page: one that nobody can change any more is of no use, unless it is a file's.
int64_t Futexes::check_word(GuestAddr word, int operation, WordUse use) {
  if (word.value & 3) return -EINVAL;
  if (word.value > kLastUserAddress) return -EFAULT;
  if (operation & FUTEX_PRIVATE_FLAG) return 0;
  switch (host_.access_to(word)) {
  case WordAccess::none:
    return -EFAULT;
  case WordAccess::read_only_file:
    return use == WordUse::read ? 0 : -EFAULT;
  case WordAccess::writable:
    return 0;
  }
  return 0;
}

int64_t Futexes::check(const SyscallArgs& args) {
  auto operation = static_cast<int>(args[1]);
  int command = operation & FUTEX_CMD_MASK;
  GuestAddr first(args[0]);
  GuestAddr second(args[4]);
  auto check = [&](GuestAddr word, WordUse use) { return check_word(word, operation, use); };
  bool takes_clock =
      command == FUTEX_WAIT_BITSET || command == FUTEX_WAIT_REQUEUE_PI || command == FUTEX_LOCK_PI2;
  if (operation & FUTEX_CLOCK_REALTIME && !takes_clock) return -ENOSYS;
  bool counts_below_zero = static_cast<int32_t>(args[2]) < 0 || static_cast<int32_t>(args[3]) < 0;
  switch (command) {
  case FUTEX_WAIT_BITSET:
  case FUTEX_WAKE_BITSET:
    return static_cast<uint32_t>(args[5]) == 0 ? -EINVAL : check(first, WordUse::read);
  case FUTEX_WAIT:
  case FUTEX_WAKE:
    return check(first, WordUse::read);
  case FUTEX_REQUEUE:
  case FUTEX_CMP_REQUEUE:
    if (counts_below_zero) return -EINVAL;
    return first_error({check(first, WordUse::read), check(second, WordUse::read)});
  case FUTEX_CMP_REQUEUE_PI:
    if (counts_below_zero || first == second || static_cast<int32_t>(args[2]) != 1) return -EINVAL;
    return first_error({check(first, WordUse::read), check(second, WordUse::write)});
  case FUTEX_WAIT_REQUEUE_PI:
    if (first == second) return -EINVAL;
    return first_error({check(second, WordUse::write), check(first, WordUse::read)});
  case FUTEX_WAKE_OP:
    return first_error({check(first, WordUse::read), check(second, WordUse::write)});
  case FUTEX_LOCK_PI:
  case FUTEX_LOCK_PI2:
  case FUTEX_TRYLOCK_PI:
    return check(first, WordUse::write);
  case FUTEX_UNLOCK_PI:
    return 0; // the kernel looks at the word first
  default:
    return -ENOSYS;
  }
}

} // namespace rdb::guest
