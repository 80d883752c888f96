// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Facts about itself that a program finds in /proc, in its descriptors and limits. Prints the same natively
// and under rdb.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char** environ;

static size_t slurp(const char* path, char* buffer, size_t size) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) return 0;
  size_t done = 0;
  ssize_t n;
  while (done < size - 1 && (n = read(fd, buffer + done, size - 1 - done)) > 0)
    done += (size_t)n;
  buffer[done] = 0;
  close(fd);
  return done;
}

// The line of maps in which an address lies: its permissions and what it is called.
static void show_mapping(const char* maps, const char* what, const void* address) {
  const char* line = maps;
  while (*line) {
    unsigned long begin, end;
    char rights[8];
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && (unsigned long)address >= begin &&
        (unsigned long)address < end) {
      const char* stop = strchr(line, '\n');
      const char* name = stop;
      while (name > line && name[-1] != ' ' && name[-1] != '/')
        --name;
      printf("%s: %s %.*s at column %s\n", what, rights, (int)(stop - name), name,
             name > line && name[-1] != '/' && name != stop ? (name - line == 73 ? "73" : "another") : "-");
      return;
    }
    line = strchr(line, '\n') + 1;
  }
  printf("%s: in no mapping\n", what);
}

static void show_fds(const char* path) {
  DIR* dir = opendir(path);
  int open_count = 0, other = 0;
  for (struct dirent* entry; (entry = readdir(dir)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    int fd = atoi(entry->d_name);
    if (fd > 2 && fd != dirfd(dir))
      ++other;
    else
      ++open_count;
  }
  closedir(dir);
  printf("%s: %d and %d others\n", path, open_count, other);
}

static long field_of(const char* stat, int number) {
  const char* at = strrchr(stat, ')') + 1;
  for (int i = 3; i < number; ++i)
    at = strchr(at + 1, ' ');
  return atol(at + 1);
}

static void on_segv(int signal) {
  (void)signal;
}

static char buffer[1 << 20];

int main(int argc, char** argv) {
  (void)argc;
  char path[64], link[PATH_MAX] = {0}, real[PATH_MAX];
  // Under the names that there are for it.
  realpath(argv[0], real);
  const char* forms[] = {"/proc/self/exe", "/proc/thread-self/exe", "/proc//self/./exe", NULL};
  for (int i = 0; i < 4; ++i) {
    snprintf(path, sizeof path, "/proc/%d/exe", getpid());
    const char* form = forms[i] ? forms[i] : path;
    memset(link, 0, sizeof link);
    ssize_t n = readlink(form, link, sizeof link);
    struct stat by_link, by_name;
    printf("exe %d: %d", i, n == (ssize_t)strlen(real) && !strcmp(link, real));
    printf(" %d\n",
           stat(form, &by_link) == 0 && stat(real, &by_name) == 0 && by_link.st_ino == by_name.st_ino);
  }
  int proc = open("/proc/self", O_RDONLY | O_DIRECTORY);
  memset(link, 0, sizeof link);
  readlinkat(proc, "exe", link, sizeof link);
  printf("exe by directory: %d\n", !strcmp(link, real));
  int exe = openat(proc, "exe", O_RDONLY);
  char magic[4] = {0};
  read(exe, magic, 4);
  struct stat exe_stat, real_stat;
  fstat(exe, &exe_stat);
  stat(real, &real_stat);
  printf("exe opened: %d %d\n", !memcmp(magic, "\177ELF", 4), exe_stat.st_ino == real_stat.st_ino);
  close(exe);
  close(proc);
  chdir("/proc/self");
  memset(link, 0, sizeof link);
  readlink("exe", link, sizeof link);
  printf("exe from inside: %d\n", !strcmp(link, real));
  chdir("/");

  char* heap = malloc(100);
  void* anonymous = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(anonymous, 4096, PROT_READ);
  slurp("/proc/self/maps", buffer, sizeof buffer);
  show_mapping(buffer, "code", (void*)main);
  show_mapping(buffer, "data", &environ);
  show_mapping(buffer, "heap", heap);
  show_mapping(buffer, "stack", path);
  show_mapping(buffer, "anonymous", (char*)anonymous + 4096);
  printf("maps know rdb: %d\n", strstr(buffer, "/rdb") != NULL || strstr(buffer, "libfmt") != NULL);

  size_t n = slurp("/proc/self/cmdline", buffer, sizeof buffer);
  printf("cmdline: %d\n", n == strlen(argv[0]) + 1 && !strcmp(buffer, argv[0]));
  n = slurp("/proc/self/environ", buffer, sizeof buffer);
  printf("environ: %d\n", n > 0 && environ[0] && !strcmp(buffer, environ[0]));
  n = slurp("/proc/self/auxv", buffer, sizeof buffer);
  unsigned long (*auxv)[2] = (void*)buffer;
  int equal = n > 100;
  for (int i = 0; auxv[i][0]; ++i)
    if (auxv[i][0] == AT_ENTRY || auxv[i][0] == AT_PHDR || auxv[i][0] == AT_RANDOM || auxv[i][0] == AT_EXECFN)
      equal += getauxval(auxv[i][0]) == auxv[i][1];
  printf("auxv: %d\n", equal);
  slurp("/proc/self/comm", buffer, sizeof buffer);
  printf("comm: %s", buffer);
  prctl(PR_SET_NAME, "another name");
  slurp("/proc/self/task/self/comm", buffer, sizeof buffer);
  slurp("/proc/self/comm", buffer, sizeof buffer);
  printf("comm: %s", buffer);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGUSR2, on_segv);
  signal(SIGHUP, SIG_IGN);
  slurp("/proc/self/stat", buffer, sizeof buffer);
  printf("stat: %d %d mask %lx caught %lx stack %d arguments %d code %d\n", atoi(buffer) == getpid(),
         strstr(buffer, "(another name)") != NULL, field_of(buffer, 32), field_of(buffer, 34) & 0x800,
         labs(field_of(buffer, 28) - (long)&path) < 65536, field_of(buffer, 48) == (long)argv[0],
         field_of(buffer, 26) <= (long)main && (long)main < field_of(buffer, 27));
  slurp("/proc/self/status", buffer, sizeof buffer);
  const char* keys[] = {"Name:", "Threads:", "SigBlk:"};
  for (int i = 0; i < 3; ++i) {
    const char* at = strstr(buffer, keys[i]);
    printf("%.*s\n", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
  }
  show_fds("/proc/self/fd");
  show_fds("/proc/self/fdinfo");
  show_fds("/dev/fd");

  // A loop over everything, as daemons do, and the call for it.
  int closed = 0;
  for (int fd = 3; fd < 10000; ++fd)
    closed += close(fd) == 0;
  printf("closed %d\n", closed);
  printf("close_range %ld\n", syscall(SYS_close_range, 3, ~0u, 0));
  int copies = 0;
  for (int fd = 3; fd < 600; ++fd)
    copies += fcntl(fd, F_GETFD) >= 0;
  printf("open %d\n", copies);
  int seen = 0;
  for (int fd = 3; fd < 10000; ++fd) {
    struct stat info;
    char byte;
    seen += fstat(fd, &info) == 0 || lseek(fd, 0, SEEK_CUR) >= 0 || read(fd, &byte, 0) == 0 || errno != EBADF;
  }
  printf("seen %d\n", seen);

  struct rlimit limit = {1 << 30, 1 << 30};
  printf("address space: %d\n", setrlimit(RLIMIT_AS, &limit));
  printf("2 GiB: %s\n", mmap(NULL, 2ul << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
                            ? strerror(errno)
                            : "mapped");
  printf("1 MiB: %d\n", mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  getrlimit(RLIMIT_AS, &limit);
  printf("address space: %lu\n", limit.rlim_cur);
  limit.rlim_cur = 65536;
  limit.rlim_max = 65536;
  printf("stack: %d\n", setrlimit(RLIMIT_STACK, &limit));
  limit.rlim_cur = 131072;
  limit.rlim_max = 65536;
  printf("stack: %s\n", setrlimit(RLIMIT_STACK, &limit) ? strerror(errno) : "set");
  prlimit(0, RLIMIT_STACK, NULL, &limit);
  printf("stack: %lu\n", limit.rlim_cur);
  slurp("/proc/self/limits", buffer, sizeof buffer);
  const char* at = strstr(buffer, "Max stack");
  printf("%.*s\n", (int)strcspn(at, "\n"), at);

  printf("deny write and execute: %d\n", prctl(65, 1, 0, 0, 0));
  printf("both: %s\n", mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                            0) == MAP_FAILED
                           ? strerror(errno)
                           : "mapped");
  printf("later: %s\n", mprotect(anonymous, 4096, PROT_READ | PROT_EXEC) ? strerror(errno) : "changed");
  printf("get: %d\n", prctl(66, 0, 0, 0, 0));
  return 0;
}
