// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// clone refuses flags that do not go together (EINVAL), whatever else is asked for; and bad addresses.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
  const char* name;
  unsigned long flag;
} kFlags[] = {{"NEWNS", CLONE_NEWNS},       {"FS", CLONE_FS},      {"NEWUSER", CLONE_NEWUSER},
              {"SIGHAND", CLONE_SIGHAND},   {"VM", CLONE_VM},      {"THREAD", CLONE_THREAD},
              {"NEWPID", CLONE_NEWPID},     {"PIDFD", 0x1000},     {"SETTID", CLONE_PARENT_SETTID},
              {"DETACHED", CLONE_DETACHED}, {"VFORK", CLONE_VFORK}};
enum { kCount = sizeof kFlags / sizeof kFlags[0] };

static int has(unsigned long flags, unsigned long these) {
  return (flags & these) == these;
}

// By the rules; all other combinations are left to programs that mean them.
static int is_refused(unsigned long f) {
  return has(f, CLONE_NEWNS | CLONE_FS) || has(f, CLONE_NEWUSER | CLONE_FS) ||
         (f & CLONE_THREAD && !(f & CLONE_SIGHAND)) || (f & CLONE_SIGHAND && !(f & CLONE_VM)) ||
         (f & CLONE_THREAD && f & (CLONE_NEWUSER | CLONE_NEWPID)) ||
         (f & 0x1000 && f & (CLONE_PARENT_SETTID | CLONE_DETACHED));
}

static int word;

static void try(const char* name, unsigned long flags, void* parent_word, unsigned long tls) {
  long result = syscall(SYS_clone, flags, 0, parent_word, 0, tls);
  if (result == 0) _exit(0);
  printf("%s: %s\n", name, result < 0 ? strerrorname_np(errno) : "a process");
  if (result > 0) waitpid((pid_t)result, NULL, __WALL);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  int refused = 0, other = 0;
  for (unsigned set = 0; set < 1u << kCount; set++) {
    unsigned long flags = SIGCHLD;
    for (int i = 0; i < kCount; i++)
      if (set >> i & 1) flags |= kFlags[i].flag;
    if (!is_refused(flags)) continue;
    long result = syscall(SYS_clone, flags, 0, &word, 0, 0);
    if (result == 0) _exit(0);
    if (result == -1 && errno == EINVAL)
      refused++;
    else
      other++;
  }
  printf("EINVAL %d, other %d\n", refused, other);
  try("all", 0xffffffff, &word, 0);
  try("CLONE_SIGHAND", CLONE_SIGHAND | SIGCHLD, &word, 0);
  try("CLONE_THREAD", CLONE_THREAD | SIGCHLD, &word, 0);
  try("CLONE_DETACHED", CLONE_DETACHED | SIGCHLD, &word, 0);
  try("a number for nowhere", CLONE_PARENT_SETTID | SIGCHLD, (void*)8, 0);
  try("a descriptor for nowhere", 0x1000 | SIGCHLD, (void*)8, 0);
  try("segment in kernel space", CLONE_SETTLS | SIGCHLD, &word, 0xffff800000000000);
  printf("arch_prctl %ld %s\n", syscall(SYS_arch_prctl, 0x1001, 0xffff800000000000), strerrorname_np(errno));
  return 0;
}
