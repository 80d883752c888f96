// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a process learns about itself and the machine, its children, and running another program.
#include "report.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

extern char** environ;

static void identity(void) {
  changing("pid %d ppid %d pgrp %d sid %d tid %d", getpid(), getppid(), getpgrp(), getsid(0), gettid());
  changing("uid %d %d gid %d %d", getuid(), geteuid(), getgid(), getegid());
  fact("tid is pid %d", gettid() == getpid());
  uid_t r, e, s;
  fact("getresuid %s", outcome(getresuid(&r, &e, &s)));
  changing("uids %d %d %d", r, e, s);
  gid_t groups[64];
  int count = getgroups(64, groups);
  changing("groups %d hash %016lx", count, hash(groups, sizeof groups[0] * (size_t)(count < 0 ? 0 : count)));
  struct utsname name;
  MUST(uname(&name) == 0);
  fact("uname %s %s", name.sysname, name.machine);
  changing("host %s release %s", name.nodename, name.release);
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  fact("capget %s", outcome(syscall(SYS_capget, &header, data)));
  changing("capabilities %x %x", data[0].effective, data[1].effective);
  header.version = 5;
  said[0] = outcome(syscall(SYS_capget, &header, data));
  fact("capget of a wrong version %s prefers %x", said[0], header.version);
}

static void resources(void) {
  struct rlimit limit;
  fact("getrlimit %s", outcome(getrlimit(RLIMIT_NOFILE, &limit)));
  struct rlimit core = {0, limit.rlim_max}, old;
  fact("prlimit %s", outcome(prlimit(0, RLIMIT_CORE, NULL, &old)));
  core.rlim_max = old.rlim_max;
  fact("setrlimit %s", outcome(setrlimit(RLIMIT_CORE, &core)));
  MUST(getrlimit(RLIMIT_CORE, &limit) == 0);
  fact("core %lu", (unsigned long)limit.rlim_cur);
  struct rusage usage;
  fact("getrusage %s", outcome(getrusage(RUSAGE_SELF, &usage)));
  changing("used %ld.%06ld rss %ld", usage.ru_utime.tv_sec, usage.ru_utime.tv_usec, usage.ru_maxrss);
  struct tms ticks;
  clock_t now = times(&ticks);
  changing("times %ld %ld", (long)now, (long)ticks.tms_utime);
  struct sysinfo info;
  fact("sysinfo %s", outcome(sysinfo(&info)));
  changing("uptime %ld procs %u", info.uptime, info.procs);
  struct timeval day;
  MUST(gettimeofday(&day, NULL) == 0);
  changing("time %ld.%06ld %ld", day.tv_sec, day.tv_usec, (long)time(NULL));
  fact("getpriority %s", outcome(getpriority(PRIO_PROCESS, 0)));
  cpu_set_t cpus;
  fact("sched_getaffinity %s", outcome(sched_getaffinity(0, sizeof cpus, &cpus)));
  changing("cpus %d", CPU_COUNT(&cpus));
  struct sched_param param;
  said[0] = outcome(sched_getparam(0, &param));
  fact("sched_getparam %s %d policy %d", said[0], param.sched_priority, sched_getscheduler(0));
  unsigned cpu, node;
  fact("getcpu %s", outcome(getcpu(&cpu, &node)));
  changing("cpu %u node %u", cpu, node);
  unsigned char bytes[300];
  fact("getrandom %s", outcome(getrandom(bytes, sizeof bytes, 0)));
  changing("random %016lx", hash(bytes, sizeof bytes));
  int fd = open("/dev/urandom", O_RDONLY);
  fact("urandom %s", outcome(read(fd, bytes, sizeof bytes)));
  changing("random %016lx", hash(bytes, sizeof bytes));
  close(fd);
}

static void control(void) {
  char name[16];
  fact("set name %s", outcome(prctl(PR_SET_NAME, "a-rather-long-name-is-cut")));
  said[0] = outcome(prctl(PR_GET_NAME, name));
  fact("get name %s %s", said[0], name);
  int value = -1;
  said[0] = outcome(prctl(PR_GET_PDEATHSIG, &value));
  fact("pdeathsig %s %d", said[0], value);
  said[0] = outcome(prctl(PR_SET_PDEATHSIG, SIGUSR1));
  said[1] = outcome(prctl(PR_GET_PDEATHSIG, &value));
  fact("pdeathsig %s %s %d", said[0], said[1], value);
  fact("subreaper %s", outcome(prctl(PR_SET_CHILD_SUBREAPER, 1)));
  said[0] = outcome(prctl(PR_GET_CHILD_SUBREAPER, &value));
  fact("get subreaper %s %d", said[0], value);
  fact("dumpable %d", prctl(PR_GET_DUMPABLE));
  fact("unknown %s", outcome(prctl(12345)));
  fact("no new privileges %s", outcome(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)));
  fact("timerslack %s", outcome(prctl(PR_GET_TIMERSLACK)));
}

static void children(void) {
  int ends[2];
  MUST(pipe(ends) == 0);
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    char text[64];
    int size = snprintf(text, sizeof text, "from the child");
    _exit(write(ends[1], text, (size_t)size) == size ? 42 : 1);
  }
  int status = -1;
  struct rusage usage;
  fact("wait4 %d", wait4(pid, &status, 0, &usage) == pid);
  fact("status %x", status);
  changing("child %d used %ld", pid, usage.ru_maxrss);
  char text[64] = "";
  said[0] = outcome(read(ends[0], text, sizeof text));
  fact("child said %s %s", said[0], text);

  pid = fork();
  if (pid == 0) {
    raise(SIGSTOP);
    _exit(5);
  }
  siginfo_t info;
  fact("waitid stopped %s", outcome(waitid(P_PID, (id_t)pid, &info, WSTOPPED)));
  fact("code %d status %d mine %d", info.si_code, info.si_status, info.si_pid == pid);
  fact("kill %s", outcome(kill(pid, SIGCONT)));
  fact("waitid exited %s", outcome(waitid(P_PID, (id_t)pid, &info, WEXITED)));
  fact("code %d status %d", info.si_code, info.si_status);

  pid = fork();
  if (pid == 0) {
    for (;;)
      pause();
  }
  fact("running %s", outcome(waitpid(pid, &status, WNOHANG)));
  fact("kill %s", outcome(kill(pid, SIGKILL)));
  MUST(waitpid(pid, &status, 0) == pid);
  fact("killed by %d", WTERMSIG(status));
  fact("no child %s", outcome(wait(&status)));

  pid = vfork();
  if (pid == 0) _exit(9);
  MUST(waitpid(pid, &status, 0) == pid);
  fact("vfork child %d", WEXITSTATUS(status));
  close(ends[0]), close(ends[1]);
}

static void programs(char* self) {
  int status = -1;
  pid_t pid;
  fflush(stdout);
  char* arguments[] = {self, "exec", "argument with spaces", NULL};
  char* environment[] = {"ONLY=this", NULL};
  MUST(posix_spawn(&pid, self, NULL, NULL, arguments, environment) == 0);
  MUST(waitpid(pid, &status, 0) == pid);
  fact("spawned exited with %d", WEXITSTATUS(status));
  fact("spawn of nothing %s",
       strerrorname_np(posix_spawn(&pid, "/no/such/program", NULL, NULL, arguments, environ)));
  fact("execve of nothing %s", outcome(execve("/no/such/program", arguments, environment)));
  fact("execve of a directory %s", outcome(execve("/tmp", arguments, environment)));
  pid = fork();
  if (pid == 0) {
    execve(self, arguments, environment);
    _exit(1);
  }
  MUST(waitpid(pid, &status, 0) == pid);
  fact("executed exited with %d", WEXITSTATUS(status));
}

int main(int argc, char** argv) {
  report_start(argc, argv);
  if (argc > 2 && strcmp(argv[1], "exec") == 0) {
    fact("executed with %s and %s", argv[2], environ[0]);
    return 17;
  }
  identity();
  resources();
  control();
  children();
  programs("/proc/self/exe");
  return 0;
}
