// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug code runs inside rdb. What would end, copy or disturb that process is refused by name: the module is
// linked with these functions in front of libc's. Inside the module only; rdb and its libraries keep their
// own.
#include "runtime-libs/module/module_host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) const struct rdb_module_host* __rdb_module_host;

_Noreturn static void refuse(const char* what) {
  if (__rdb_module_host != 0) __rdb_module_host->refuse(what);
  // No rdb around, or it came back: nothing sensible can follow.
  static const char message[] = "rdb: debug code called what it must not: ";
  ssize_t ignored = write(2, message, sizeof message - 1);
  ignored = write(2, what, strlen(what));
  ignored = write(2, "\n", 1);
  (void)ignored;
  __builtin_trap();
}

// Defined under another name in C, since libc's headers declare them with their arguments.
#define RDB_REFUSE(name)                                                                                     \
  _Noreturn void rdb_refuse_##name(void) __asm__(#name);                                                     \
  _Noreturn void rdb_refuse_##name(void) {                                                                   \
    refuse(#name);                                                                                           \
  }

// The end of the process.
RDB_REFUSE(exit)
RDB_REFUSE(_exit)
RDB_REFUSE(_Exit)
RDB_REFUSE(quick_exit)
RDB_REFUSE(abort)
// Other processes.
RDB_REFUSE(fork)
RDB_REFUSE(_Fork)
RDB_REFUSE(vfork)
RDB_REFUSE(clone)
RDB_REFUSE(daemon)
RDB_REFUSE(system)
RDB_REFUSE(popen)
RDB_REFUSE(posix_spawn)
RDB_REFUSE(posix_spawnp)
RDB_REFUSE(execl)
RDB_REFUSE(execle)
RDB_REFUSE(execlp)
RDB_REFUSE(execv)
RDB_REFUSE(execve)
RDB_REFUSE(execvp)
RDB_REFUSE(execvpe)
RDB_REFUSE(fexecve)
// Threads: a replay has one, and snapshots are forks of it.
RDB_REFUSE(pthread_create)
RDB_REFUSE(thrd_create)
// Signals belong to the replay.
RDB_REFUSE(signal)
RDB_REFUSE(sigaction)
RDB_REFUSE(sigprocmask)
RDB_REFUSE(pthread_sigmask)
RDB_REFUSE(sigaltstack)
RDB_REFUSE(alarm)
RDB_REFUSE(setitimer)

// assert() in debug code: say what failed as libc would, then end the region instead of the process.
_Noreturn void __assert_fail(const char* expression, const char* file, unsigned line, const char* function);
_Noreturn void __assert_fail(const char* expression, const char* file, unsigned line, const char* function) {
  fflush(stdout);
  fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
  fflush(stderr);
  refuse("abort (a failed assertion)");
}
