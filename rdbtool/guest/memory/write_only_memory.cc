// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/write_only_memory.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/memory/address_space.h"

#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

// Whether core dumps have it. The host makes none of the guest's memory.
void advise(uint64_t begin, uint64_t end, int advice) {
  raw_syscall(SYS_madvise, static_cast<int64_t>(begin), static_cast<int64_t>(end - begin), advice);
}

} // namespace

bool is_write_only(int protection) {
  return (protection & (PROT_READ | PROT_WRITE | PROT_EXEC)) == PROT_WRITE;
}

int first_host_protection(int protection) {
  return is_write_only(protection) ? PROT_WRITE : host_protection(protection);
}

void make_readable_apart(uint64_t begin, uint64_t end) {
  advise(begin, end, MADV_DONTDUMP);
  raw_syscall(SYS_mprotect, static_cast<int64_t>(begin), static_cast<int64_t>(end - begin),
              PROT_READ | PROT_WRITE);
}

void end_apart(uint64_t begin, uint64_t end) {
  advise(begin, end, MADV_DODUMP);
}

} // namespace rdb::guest
