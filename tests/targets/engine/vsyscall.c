// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of the vsyscall page, at their fixed addresses, as programs of old call them.
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

int main(void) {
  int (*old_gettimeofday)(struct timeval*, void*) = (int (*)(struct timeval*, void*))0xffffffffff600000ul;
  time_t (*old_time)(time_t*) = (time_t (*)(time_t*))0xffffffffff600400ul;
  long (*old_getcpu)(unsigned*, unsigned*, void*) =
      (long (*)(unsigned*, unsigned*, void*))0xffffffffff600800ul;
  for (int i = 0; i < 3000; i++) {
    struct timeval before = {0, 0}, after = {0, 0};
    time_t stored = 0;
    unsigned cpu = 99999, node = 99999;
    int status = old_gettimeofday(&before, NULL);
    time_t now = old_time(&stored);
    gettimeofday(&after, NULL);
    long got = old_getcpu(&cpu, &node, NULL);
    int fine = status == 0 && got == 0 && now == stored && before.tv_sec <= now + 1 && now <= after.tv_sec &&
               cpu < 99999 && node < 99999;
    if (!fine || i == 0) printf("%d: %s\n", i, fine ? "fine" : "WRONG");
  }
  return 0;
}
