// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory of a file that was cut off after it was mapped: what calls put there, and what is executed there.
#define _GNU_SOURCE
#include "cases.h"

#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <ucontext.h>

static char* memory;
static int file;
static int letters; // a file with something to read
static int ends[2]; // of a pair of sockets

// Three pages, of which the file has the first and the beginning of the second.
static void map_and_cut(int flags, off_t size) {
  file = letter_file(3);
  letters = letter_file(3);
  memory = map_pages(3, PROT_READ | PROT_WRITE | PROT_EXEC, flags, file);
  for (size_t i = 0; i < 3; ++i)
    memory[i * kPage + 1] = 'm'; // a private one has pages of its own now
  check(ftruncate(file, size) == 0, "ftruncate");
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
}

static void tell(const char* what, char* to, long result) {
  say("%s at %ld: %ld %s\n", what, (long)(to - memory), result, error_of(result));
}

static void try_calls(char* to, size_t size) {
  tell("pread", to, pread(letters, to, size, 0));
  lseek(letters, 100, SEEK_SET);
  tell("read", to, read(letters, to, size));
  tell("position", to, lseek(letters, 0, SEEK_CUR));
  char other[50];
  struct iovec vectors[3] = {{other, sizeof other}, {to, size}, {other, sizeof other}};
  lseek(letters, 200, SEEK_SET);
  tell("readv", to, readv(letters, vectors, 3));
  tell("preadv", to, preadv(letters, vectors, 3, 300));
  char message[200];
  memset(message, 'r', sizeof message);
  check(send(ends[0], message, sizeof message, 0) == (ssize_t)sizeof message, "send");
  tell("recv", to, recv(ends[1], to, size, 0));
  struct msghdr header = {.msg_iov = vectors, .msg_iovlen = 3};
  tell("recvmsg", to, recvmsg(ends[1], &header, MSG_DONTWAIT));
  tell("what is left", to, recv(ends[1], message, sizeof message, MSG_DONTWAIT));
  int here = open(".", O_RDONLY | O_DIRECTORY);
  check(chdir("/usr/bin") == 0, "chdir"); // a name that is always the same
  tell("getcwd", to, getcwd(to, size) == NULL ? -1 : 0);
  check(fchdir(here) == 0 && close(here) == 0, "fchdir");
  tell("readlink", to, readlink("/proc/self/root", to, size));
}

static void try_structures(char* to) {
  tell("fstat", to, fstat(letters, (struct stat*)to));
  tell("uname", to, uname((struct utsname*)to));
  tell("clock_getres", to, syscall(SYS_clock_getres, CLOCK_MONOTONIC, to));
  tell("getrlimit", to, getrlimit(RLIMIT_CORE, (struct rlimit*)to));
  tell("pipe", to, pipe((int*)to));
  tell("sigprocmask", to, sigprocmask(SIG_BLOCK, NULL, (sigset_t*)to));
  struct timespec none = {0, 0};
  tell("nanosleep", to, clock_nanosleep(CLOCK_MONOTONIC, 0, &none, (struct timespec*)to));
}

static void show_letters(void) {
  show("pages", memory, 3);
  char text[40];
  int size = 0;
  for (size_t i = kPage - 8; i < kPage + 8 && i < 2 * kPage; ++i)
    if (strlen(look(memory + i)) == 1) text[size++] = look(memory + i)[0];
  say("around the first end: %.*s\n", size, text);
}

static void calls(int flags, off_t size) {
  map_and_cut(flags, size);
  try_calls(memory + 2 * kPage, 100);
  try_calls(memory + 2 * kPage - 10, 4000);
  try_calls(memory + kPage - 4, 300);
  show_letters();
  try_structures(memory + 2 * kPage);
  try_structures(memory + kPage - 4);
  show("pages", memory, 3);
  check(ftruncate(file, 3 * kPage) == 0, "ftruncate");
  try_calls(memory + 2 * kPage - 10, 4000);
  show_letters();
}

static void shared_calls(void) {
  calls(MAP_SHARED, kPage + 100);
  calls(MAP_SHARED, 0);
}

static void private_calls(void) {
  calls(MAP_PRIVATE, kPage + 100);
  calls(MAP_PRIVATE, kPage);
}

// Structures that the kernel reads and writes, and those that say where to write, are there themselves.
static void structures_there(void) {
  map_and_cut(MAP_SHARED, kPage);
  struct iovec* vectors = (struct iovec*)(memory + kPage - sizeof(struct iovec));
  char other[10];
  vectors[0] = (struct iovec){other, sizeof other};
  tell("one vector", (char*)vectors, preadv(letters, vectors, 1, 0));
  tell("two vectors", (char*)vectors, preadv(letters, vectors, 2, 0));
  socklen_t* size = (socklen_t*)(memory + kPage);
  int value;
  tell("getsockopt", (char*)size, getsockopt(ends[0], SOL_SOCKET, SO_TYPE, &value, size));
  fd_set* set = (fd_set*)(memory + kPage);
  tell("select", (char*)set, select(8, set, NULL, NULL, &(struct timeval){0, 0}));
  struct msghdr* header = (struct msghdr*)(memory + kPage);
  tell("recvmsg", (char*)header, recvmsg(ends[0], header, MSG_DONTWAIT));
}

static sigjmp_buf back;

static void on_fetch(int number, siginfo_t* info, void* context) {
  const greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  say("signal %d code %d at %lx, pc %lx, error %llx, trap %llu\n", number, info->si_code,
      (long)((char*)info->si_addr - memory), (long)(registers[REG_RIP] - (long)memory), registers[REG_ERR],
      registers[REG_TRAPNO]);
  siglongjmp(back, 1);
}

static void execute(char* code) {
  if (sigsetjmp(back, 1) == 0) say("%d\n", ((int (*)(void))code)());
}

// A fetch after the end of the file, at once or after some instructions, or with a part of an instruction.
static void executed(void) {
  struct sigaction action = {.sa_sigaction = on_fetch, .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &action, NULL);
  sigaction(SIGSEGV, &action, NULL);
  static const unsigned char kFunction[] = {0x90, 0x90, 0xB8, 1, 0, 0, 0, 0xC3}; // nop; nop; mov eax, 1; ret
  for (int shared = 0; shared < 2; ++shared)
    for (int before = 0; before < 2; ++before)
      for (size_t offset = kPage - 8; offset <= kPage; ++offset) {
        map_and_cut(shared ? MAP_SHARED : MAP_PRIVATE, 3 * kPage);
        memcpy(memory + offset, kFunction, sizeof kFunction);
        if (shared == 0) check(pwrite(file, kFunction, sizeof kFunction, (off_t)offset) > 0, "pwrite");
        if (before) execute(memory + offset); // it is translated while all of it is there
        check(ftruncate(file, kPage) == 0, "ftruncate");
        execute(memory + offset);
        check(ftruncate(file, 3 * kPage) == 0, "ftruncate");
        memcpy(memory + offset, kFunction, sizeof kFunction);
        execute(memory + offset);
        munmap(memory, 3 * kPage);
        close(file);
        close(letters);
        close(ends[0]);
        close(ends[1]);
      }
}

static int open_by_openat2(const char* path) {
  struct open_how how = {.flags = O_WRONLY | O_TRUNC};
  return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

// The file is cut off by calls that open it.
static void opened(void) {
  struct sigaction action = {.sa_sigaction = on_fetch, .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &action, NULL);
  for (int shared = 0; shared < 2; ++shared)
    for (int how = 0; how < 5; ++how) {
      map_and_cut(shared ? MAP_SHARED : MAP_PRIVATE, 3 * kPage);
      unsigned char function[] = {0xB8, 0, 0, 0, 0, 0xC3}; // mov eax, how; ret
      function[1] = (unsigned char)how;
      check(pwrite(file, function, sizeof function, kPage) > 0, "pwrite");
      check(madvise(memory, 3 * kPage, MADV_DONTNEED) == 0, "madvise"); // a private one has none of its own
      execute(memory + kPage);
      char path[40];
      snprintf(path, sizeof path, "/proc/self/fd/%d", file);
      int fd = how == 0   ? open(path, O_RDWR | O_TRUNC)
               : how == 1 ? (int)syscall(SYS_open, path, O_RDWR | O_TRUNC)
               : how == 2 ? openat(ends[0], path, O_WRONLY | O_TRUNC)
               : how == 3 ? (int)syscall(SYS_creat, path, 0600)
                          : open_by_openat2(path);
      check(fd >= 0, "open");
      execute(memory + kPage);
      check(ftruncate(file, 3 * kPage) == 0, "ftruncate");
      show("pages", memory, 3);
      check(pwrite(file, "\xB8\x63\0\0\0\xC3", 6, kPage) == 6, "pwrite");
      execute(memory + kPage);
      munmap(memory, 3 * kPage);
      close(fd);
      close(file);
      close(letters);
      close(ends[0]);
      close(ends[1]);
    }
}

static const struct Case cases[] = {
    {"shared_calls", shared_calls},
    {"private_calls", private_calls},
    {"structures_there", structures_there},
    {"executed", executed},
    {"opened", opened},
};

int main(int argc, char** argv) {
  return RUN_CASES(argc, argv);
}
