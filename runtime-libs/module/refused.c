// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug code runs inside rdb. What would end, copy or disturb that process is refused by name: the module is
// linked with these functions in front of libc's. Inside the module only; rdb and its libraries keep their
// own.
#include "runtime-libs/module/module_host.h"

#include <err.h>
#include <errno.h>
#include <error.h>
#include <stdarg.h>
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
#define RDB_REFUSE_AS(name, symbol, words)                                                                   \
  _Noreturn void rdb_refuse_##name(void) __asm__(symbol);                                                    \
  _Noreturn void rdb_refuse_##name(void) {                                                                   \
    refuse(words);                                                                                           \
  }
#define RDB_REFUSE(name) RDB_REFUSE_AS(name, #name, #name)

// The end of the process.
RDB_REFUSE(exit)
RDB_REFUSE(_exit)
RDB_REFUSE(_Exit)
RDB_REFUSE(quick_exit)
RDB_REFUSE(abort)
RDB_REFUSE(pthread_exit)
RDB_REFUSE(thrd_exit)
// Functions that are called when rdb ends: the module is gone by then.
RDB_REFUSE(on_exit)
RDB_REFUSE(at_quick_exit)
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
RDB_REFUSE(pthread_cancel)
// They start threads.
RDB_REFUSE(aio_read)
RDB_REFUSE(aio_read64)
RDB_REFUSE(aio_write)
RDB_REFUSE(aio_write64)
RDB_REFUSE(aio_fsync)
RDB_REFUSE(aio_fsync64)
RDB_REFUSE(lio_listio)
RDB_REFUSE(lio_listio64)
RDB_REFUSE(getaddrinfo_a)
RDB_REFUSE(mq_notify)
// std::thread, and what is made of it.
RDB_REFUSE_AS(std_thread,
              "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
              "std::thread")
// Signals belong to the replay.
RDB_REFUSE(signal)
RDB_REFUSE(ssignal)
RDB_REFUSE(sysv_signal)
RDB_REFUSE(__sysv_signal)
RDB_REFUSE(bsd_signal)
RDB_REFUSE(sigset)
RDB_REFUSE(sigignore)
RDB_REFUSE(sighold)
RDB_REFUSE(sigrelse)
RDB_REFUSE(sigaction)
RDB_REFUSE(sigvec)
RDB_REFUSE(siginterrupt)
RDB_REFUSE(sigprocmask)
RDB_REFUSE(pthread_sigmask)
RDB_REFUSE(sigblock)
RDB_REFUSE(sigsetmask)
RDB_REFUSE(sigsuspend)
RDB_REFUSE(sigpause)
RDB_REFUSE(__sigpause)
RDB_REFUSE(__xpg_sigpause)
RDB_REFUSE(pause)
RDB_REFUSE(sigwait)
RDB_REFUSE(sigwaitinfo)
RDB_REFUSE(sigtimedwait)
RDB_REFUSE(sigaltstack)
RDB_REFUSE(alarm)
RDB_REFUSE(ualarm)
RDB_REFUSE(setitimer)
RDB_REFUSE(timer_create)
// Who sends one means the program, which is not there any more.
RDB_REFUSE(raise)
RDB_REFUSE(gsignal)
RDB_REFUSE(kill)
RDB_REFUSE(killpg)
RDB_REFUSE(tgkill)
RDB_REFUSE(pthread_kill)
RDB_REFUSE(sigqueue)
RDB_REFUSE(pthread_sigqueue)
// What the kernel knows of this process.
RDB_REFUSE(prctl)
RDB_REFUSE(ptrace)
RDB_REFUSE(personality)
RDB_REFUSE(setrlimit)
RDB_REFUSE(setrlimit64)
RDB_REFUSE(unshare)
RDB_REFUSE(setns)
RDB_REFUSE(chroot)
RDB_REFUSE(chdir)
RDB_REFUSE(fchdir)
RDB_REFUSE(close_range)
RDB_REFUSE(closefrom)
RDB_REFUSE(brk)
RDB_REFUSE(sbrk)

// Messages with which a program ends.
#define RDB_SAY_AND_REFUSE(name, say, ...)                                                                   \
  _Noreturn void name(int status, __VA_ARGS__) {                                                             \
    (void)status;                                                                                            \
    fflush(stdout);                                                                                          \
    say;                                                                                                     \
    refuse(#name);                                                                                           \
  }
#define RDB_SAY_LIST(say)                                                                                    \
  va_list list;                                                                                              \
  va_start(list, format);                                                                                    \
  say(format, list);                                                                                         \
  va_end(list)
RDB_SAY_AND_REFUSE(err, RDB_SAY_LIST(vwarn), const char* format, ...)
RDB_SAY_AND_REFUSE(errx, RDB_SAY_LIST(vwarnx), const char* format, ...)
RDB_SAY_AND_REFUSE(verr, vwarn(format, list), const char* format, va_list list)
RDB_SAY_AND_REFUSE(verrx, vwarnx(format, list), const char* format, va_list list)

// Ends the process unless the status is 0.
void error(int status, int number, const char* format, ...) {
  fflush(stdout);
  va_list list;
  va_start(list, format);
  errno = number;
  if (number != 0)
    vwarn(format, list);
  else
    vwarnx(format, list);
  va_end(list);
  if (status != 0) refuse("error with a status");
}

// assert() in debug code: say what failed as libc would, then end the region instead of the process.
_Noreturn void __assert_fail(const char* expression, const char* file, unsigned line, const char* function);
_Noreturn void __assert_fail(const char* expression, const char* file, unsigned line, const char* function) {
  fflush(stdout);
  fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
  fflush(stderr);
  refuse("abort (a failed assertion)");
}
