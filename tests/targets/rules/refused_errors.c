// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is wrong with a call's descriptor, process or flags is found before the kernel looks at the request:
// EBADF and its kind come first, whether the kernel (or rdb) knows the request or not.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void show(const char* what, long result) {
  printf("%s: %s\n", what, result < 0 ? strerrorname_np(errno) : "no error");
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  int path = open("/", O_PATH), file = open("/proc/self/cmdline", O_RDONLY),
      local = socket(AF_UNIX, SOCK_STREAM, 0);
  int ends[2];
  pipe(ends);
  static const unsigned kRequests[] = {
      SIOCETHTOOL, TIOCLINUX, 0xc0606610 /* PAGEMAP_SCAN */, 0xc0287887, 0x40106414, 0xae01, 0x12345678};
  for (unsigned i = 0; i < sizeof kRequests / sizeof kRequests[0]; i++) {
    char name[40];
    snprintf(name, sizeof name, "ioctl %x", kRequests[i]);
    printf("%s ", name), show("closed", ioctl(999, kRequests[i], 0));
    printf("%s ", name), show("negative", ioctl(-1, kRequests[i], 0));
    printf("%s ", name), show("path", ioctl(path, kRequests[i], 0));
    printf("%s ", name), show("pipe", ioctl(ends[0], kRequests[i], 0));
  }
  show("fcntl closed", fcntl(999, 4711));
  show("fcntl path", fcntl(path, 4711));
  show("fcntl file", fcntl(file, 4711));
  int value = 0;
  socklen_t size = sizeof value;
  show("setsockopt closed", setsockopt(999, 263, 5, &value, size));
  show("setsockopt file", setsockopt(file, 263, 5, &value, size));
  show("setsockopt path", setsockopt(path, 283, 2, &value, size));
  show("setsockopt local", setsockopt(local, 263, 5, &value, size));
  show("getsockopt closed", getsockopt(999, 6, 35, &value, &size));
  show("getsockopt file", getsockopt(file, 6, 35, &value, &size));
  show("getsockopt local", getsockopt(local, 6, 35, &value, &size));
  show("ptrace", ptrace(PTRACE_ATTACH, 0x7fffffff, 0, 0));
  show("process_vm_writev", syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 1));
  show("pkey_alloc flags", syscall(SYS_pkey_alloc, 1, 0));
  show("pkey_alloc rights", syscall(SYS_pkey_alloc, 0, 16));
  show("perf_event_open flags", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 1 << 20));
  show("perf_event_open nothing", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
  show("PR_SET_MM", prctl(PR_SET_MM, 1, 0, 1, 1));
  return 0;
}
