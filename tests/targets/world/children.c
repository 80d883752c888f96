// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Children: fork, vfork, posix_spawn, clone, programs that cannot be executed, and what wait says of them.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static const char* ending(int status) {
  static char text[64];
  if (WIFEXITED(status))
    snprintf(text, sizeof text, "exit %d", WEXITSTATUS(status));
  else if (WIFSIGNALED(status))
    snprintf(text, sizeof text, "signal %d", WTERMSIG(status));
  else
    snprintf(text, sizeof text, "%#x", status);
  return text;
}

static void wait_for(const char* what, pid_t child) {
  int status = 0;
  pid_t got = waitpid(child, &status, 0);
  printf("%s: %s%s\n", what, got == child ? "" : "not waited for, ", ending(status));
}

static void put(const char* path, const char* text, mode_t mode) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
  write(fd, text, strlen(text));
  close(fd);
}

static void try_exec(const char* path) {
  char* arguments[] = {(char*)path, "one", "two words", NULL};
  pid_t child = fork();
  if (child == 0) {
    execv(path, arguments);
    printf("execv: %s\n", strerror(errno));
    _exit(errno);
  }
  const char* name = strrchr(path, '/');
  wait_for(name ? name : path, child);
}

static void spawn(const char* path) {
  char* arguments[] = {(char*)path, "-c", "exit 7", NULL};
  pid_t child = -1;
  int error = posix_spawn(&child, path, NULL, NULL, arguments, environ);
  printf("posix_spawn: %s\n", error ? strerror(error) : "started");
  if (error == 0) wait_for("spawned", child);
}

static int cloned(void* argument) {
  *(int*)argument += 1;
  return 23;
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  if (argc > 1) {
    printf("again: %d %s\n", argc, argv[1]);
    return 3;
  }
  char folder[] = "/tmp/rdb-children-XXXXXX";
  mkdtemp(folder);
  chdir(folder);

  int number = 5;
  pid_t child = fork();
  if (child == 0) {
    number = 6;
    _exit(number);
  }
  wait_for("fork", child);
  printf("the parent's number: %d\n", number);

  child = vfork();
  if (child == 0) {
    number = 9;
    _exit(4);
  }
  wait_for("vfork", child);
  printf("after vfork: %d\n", number);

  volatile int word = 0;
  child = syscall(SYS_clone, SIGCHLD | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID, 0, &word, &word, 0);
  if (child == 0) _exit(word == getpid() ? 11 : 12);
  printf("parent's word: %d\n", word == child);
  wait_for("clone", child);

  char* stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  child = clone(cloned, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, &number);
  wait_for("clone with memory", child);
  printf("changed by it: %d\n", number);

  spawn("/bin/sh");
  spawn("/nowhere/at/all");
  put("text", "just text\n", 0755);
  spawn("./text");
  FILE* pipe = popen("echo from popen; exit 2", "r");
  char line[64] = "";
  fgets(line, sizeof line, pipe);
  printf("popen: %s", line);
  printf("pclose: %s\n", ending(pclose(pipe)));
  printf("system: %s\n", ending(system("kill -9 $$")));

  try_exec("/nowhere");
  try_exec("./text");
  mkdir("folder", 0755);
  try_exec("./folder");
  put("locked", "#!/bin/sh\n", 0644);
  try_exec("./locked");
  put("script", "#!/bin/sh -e\necho \"script: $# $2 $0\"\nexit 5\n", 0755);
  try_exec("./script");
  put("orphan", "#!/no/interpreter\n", 0755);
  try_exec("./orphan");
  put("loop", "#!./loop\n", 0755);
  try_exec("./loop");
  put("outer", "#!./script inner\n", 0755);
  try_exec("./outer");
  symlink("script", "link");
  try_exec("./link");

  char* big = malloc(200000);
  memset(big, 'x', 199999);
  big[199999] = 0;
  char* long_arguments[] = {"/bin/true", big, NULL};
  printf("long argument: %d %s\n", execv("/bin/true", long_arguments), strerror(errno));
  printf("bad pointer: %d %s\n", execve("/bin/true", (char**)8, environ), strerror(errno));

  child = fork();
  if (child == 0) {
    char* arguments[] = {"a name of its own", "argument", NULL};
    execv("/proc/self/exe", arguments);
    _exit(1);
  }
  wait_for("itself", child);
  child = fork();
  if (child == 0) {
    char* arguments[] = {"sh", "-c", "echo by descriptor $0", "x", NULL};
    int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    fexecve(fd, arguments, environ);
    _exit(1);
  }
  wait_for("descriptor", child);
  // What is ignored and blocked stays so, handlers do not.
  signal(SIGUSR1, SIG_IGN);
  child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "kill -USR1 $$; echo alive; kill -USR2 $$; echo not reached", NULL);
    _exit(1);
  }
  wait_for("dispositions", child);
  // The environment is the guest's alone.
  setenv("LD_PRELOAD", "/nowhere.so", 1);
  child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), 2);
    execl("/bin/sh", "sh", "-c", "echo $LD_PRELOAD", NULL);
  }
  wait_for("environment", child);
  unsetenv("LD_PRELOAD");
  struct rusage usage;
  int status;
  if (fork() == 0) raise(SIGTERM);
  printf("wait4: %d %s\n", wait4(-1, &status, 0, &usage) > 0, ending(status));
  siginfo_t info = {0};
  if (fork() == 0) _exit(77);
  waitid(P_ALL, 0, &info, WEXITED);
  printf("waitid: %d %d\n", info.si_code == CLD_EXITED, info.si_status);
  printf("no more: %d %s\n", wait(NULL), strerror(errno));
  chdir("/");
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}
