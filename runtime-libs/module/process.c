// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that debug code may call for itself, but not to change what is the program's or rdb's own: memory
// of the program, descriptors of rdb, system calls that have a function which is refused.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime-libs/module/libc.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void refuse(const char* what) {
  if (__rdb_module_host != 0) __rdb_module_host->refuse(what);
}

static int is_guests(const void* memory) {
  return memory != 0 && __rdb_is_programs(memory);
}

int(munmap)(void* memory, size_t size) {
  if (is_guests(memory)) refuse("munmap with memory of the program");
  REAL(munmap)
  return real(memory, size);
}
int(mprotect)(void* memory, size_t size, int how) {
  if (is_guests(memory)) refuse("mprotect with memory of the program");
  REAL(mprotect)
  return real(memory, size, how);
}
int(madvise)(void* memory, size_t size, int how) {
  if (is_guests(memory)) refuse("madvise with memory of the program");
  REAL(madvise)
  return real(memory, size, how);
}
// A wish of a place in the program's range must not be granted: the program's own mappings come there.
void*(mmap)(void* place, size_t size, int how, int flags, int file, off_t offset) {
  if (is_guests(place)) {
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) refuse("mmap at an address of the program's");
    place = 0;
  }
  REAL(mmap)
  return real(place, size, how, flags, file, offset);
}
void*(mremap)(void* memory, size_t old_size, size_t size, int flags, ...) {
  if (is_guests(memory)) refuse("mremap with memory of the program");
  if (flags & MREMAP_FIXED) refuse("mremap to a fixed address");
  REAL(mremap)
  return real(memory, old_size, size, flags);
}

// The standard streams are the replay's, and so is what was open before debug code came.
static int is_rdbs(int file) {
  return __rdb_module_host != 0 && __rdb_module_host->is_own_file(file);
}
int(close)(int file) {
  if (is_rdbs(file)) refuse("close with a descriptor that is not debug code's own");
  REAL(close)
  return real(file);
}
int(dup2)(int file, int place) {
  if (file != place && is_rdbs(place)) refuse("dup2 to a descriptor that is not debug code's own");
  REAL(dup2)
  return real(file, place);
}
int(dup3)(int file, int place, int flags) {
  if (is_rdbs(place)) refuse("dup3 to a descriptor that is not debug code's own");
  REAL(dup3)
  return real(file, place, flags);
}

// The descriptor of a folder that the program has open is another file's here, or nobody's.
#define OWN_FOLDER(type, name)                                                                               \
  type(name)(DIR * folder) {                                                                                 \
    if (is_guests(folder))                                                                                   \
      refuse(#name " with a DIR of the program (rdb_guest(" #name ") is the program's)");                    \
    REAL(name)                                                                                               \
    return real(folder);                                                                                     \
  }
OWN_FOLDER(int, closedir)
OWN_FOLDER(int, dirfd)
OWN_FOLDER(struct dirent*, readdir)
OWN_FOLDER(struct dirent64*, readdir64)
OWN_FOLDER(void, rewinddir)
OWN_FOLDER(long, telldir)

int(prlimit)(pid_t process, enum __rlimit_resource what, const struct rlimit* limit, struct rlimit* old) {
  if (limit != 0) refuse("prlimit");
  REAL(prlimit)
  return real(process, what, limit, old);
}

// The clock that watches over debug code interrupts a sleep, which then goes on.
int(clock_nanosleep)(clockid_t clock, int flags, const struct timespec* time, struct timespec* left) {
  REAL(clock_nanosleep)
  if (flags & TIMER_ABSTIME) {
    int result;
    while ((result = real(clock, flags, time, left)) == EINTR) {
    }
    return result;
  }
  struct timespec rest = *time;
  int result;
  while ((result = real(clock, flags, &rest, &rest)) == EINTR) {
  }
  return result;
}
int(nanosleep)(const struct timespec* time, struct timespec* left) {
  int error = clock_nanosleep(CLOCK_REALTIME, 0, time, left);
  if (error == 0) return 0;
  errno = error;
  return -1;
}
unsigned(sleep)(unsigned seconds) {
  struct timespec time = {seconds, 0};
  nanosleep(&time, 0);
  return 0;
}
int(usleep)(useconds_t microseconds) {
  struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000L};
  return nanosleep(&time, 0);
}

// See guest_call.c.
extern __attribute__((visibility("hidden"))) void* __rdb_guest_target;
__attribute__((visibility("hidden"))) long __rdb_always_watched_call(long number, ...);

// Without their functions, the same calls are the same.
static const char* refused_call(long number) {
  switch (number) {
#define REFUSED(name)                                                                                        \
  case SYS_##name:                                                                                           \
    return "syscall(SYS_" #name ")";
    REFUSED(exit)
    REFUSED(exit_group)
    REFUSED(fork)
    REFUSED(vfork)
    REFUSED(clone)
    REFUSED(clone3)
    REFUSED(execve)
    REFUSED(execveat)
    REFUSED(kill)
    REFUSED(tkill)
    REFUSED(tgkill)
    REFUSED(rt_sigqueueinfo)
    REFUSED(rt_tgsigqueueinfo)
    REFUSED(rt_sigaction)
    REFUSED(rt_sigprocmask)
    REFUSED(rt_sigsuspend)
    REFUSED(rt_sigreturn)
    REFUSED(sigaltstack)
    REFUSED(pause)
    REFUSED(alarm)
    REFUSED(setitimer)
    REFUSED(timer_create)
    REFUSED(prctl)
    REFUSED(arch_prctl)
    REFUSED(seccomp)
    REFUSED(ptrace)
    REFUSED(personality)
    REFUSED(setrlimit)
    REFUSED(prlimit64)
    REFUSED(unshare)
    REFUSED(setns)
    REFUSED(chroot)
    REFUSED(chdir)
    REFUSED(fchdir)
    REFUSED(brk)
    REFUSED(mmap)
    REFUSED(munmap)
    REFUSED(mremap)
    REFUSED(mprotect)
    REFUSED(pkey_mprotect)
    REFUSED(madvise)
    REFUSED(close)
    REFUSED(close_range)
    REFUSED(dup2)
    REFUSED(dup3)
    REFUSED(set_robust_list)
    REFUSED(set_tid_address)
    REFUSED(rseq)
  default:
    return 0;
  }
}
long(syscall)(long number, ...) {
  const char* refused = refused_call(number);
  if (refused != 0) refuse(refused);
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i)
    a[i] = va_arg(list, long);
  va_end(list);
  REAL(syscall)
  // The kernel may write to what it is given, and to what that points to.
  if (__rdb_module_host == 0) return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  __rdb_guest_target = (void*)real;
  return __rdb_always_watched_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
