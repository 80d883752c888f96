// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that rdb does not carry out.
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  int refused = 0;
  for (int i = 0; i < 3; ++i)
    refused += syscall(SYS_io_uring_setup, 4, NULL) == -1 && errno == ENOSYS;
  printf("io_uring_setup ENOSYS %d times\n", refused);
  if (syscall(SYS_userfaultfd, 0) == -1 && errno == ENOSYS) printf("userfaultfd ENOSYS\n");
  const int kAmxTiles = 18;
  if (syscall(SYS_arch_prctl, 0x1023, kAmxTiles) == -1 && errno == EINVAL)
    printf("ARCH_REQ_XCOMP_PERM EINVAL\n");
  const int kNothing = 0x3001;
  if (syscall(SYS_arch_prctl, kNothing, 0) == -1 && errno == EINVAL) printf("unknown EINVAL\n");
  return 0;
}
