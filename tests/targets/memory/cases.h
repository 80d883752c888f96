// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the programs mem_*.c share: each is a list of cases, run by name. What is printed is written at once,
// so that processes do not print each other's.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// Not every program uses everything.
#pragma GCC diagnostic ignored "-Wunused-function"

enum { kPage = 4096 };

struct Case {
  const char* name;
  void (*run)(void);
};

static void say(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (write(1, text, (size_t)size) != size) _exit(9);
}

static void check(int fine, const char* what) {
  if (fine) return;
  say("%s: %s\n", what, strerror(errno));
  _exit(8);
}

static const char* error_of(long result) {
  return result == -1 ? strerrorname_np(errno) : "no error";
}

static char* map_pages(size_t pages, int protection, int flags, int fd) {
  char* result = mmap(NULL, pages * kPage, protection, flags, fd, 0);
  check(result != MAP_FAILED, "mmap");
  return result;
}

static char* own_pages(size_t pages) {
  char* result = map_pages(pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  for (size_t i = 0; i < pages; ++i)
    memset(result + i * kPage, (int)('1' + i), kPage);
  return result;
}

// A file without a name, each of whose pages is full of another letter.
static int letter_file(size_t pages) {
  char name[] = "memory-XXXXXX";
  int fd = mkstemp(name);
  check(fd >= 0 && unlink(name) == 0, "mkstemp");
  char page[kPage];
  for (size_t i = 0; i < pages; ++i) {
    memset(page, (int)('a' + i), sizeof page);
    check(write(fd, page, sizeof page) == (ssize_t)sizeof page, "write");
  }
  return fd;
}

static sigjmp_buf escape_;

static void on_fault(int number) {
  siglongjmp(escape_, number);
}

static void catch_faults(void) {
  signal(SIGSEGV, on_fault);
  signal(SIGBUS, on_fault);
}

// The first byte of a page: a character, "0" for none, or the signal that looking at it raises.
static const char* look(const volatile char* page) {
  static char text[2];
  int number = sigsetjmp(escape_, 1);
  if (number != 0) return number == SIGBUS ? "SIGBUS" : "SIGSEGV";
  text[0] = page[0] == 0 ? '0' : page[0];
  return text;
}

static void show(const char* what, const char* memory, size_t pages) {
  char text[400];
  int size = snprintf(text, sizeof text, "%s:", what);
  for (size_t i = 0; i < pages; ++i)
    size += snprintf(text + size, sizeof text - (size_t)size, " %s", look(memory + i * kPage));
  say("%s\n", text);
}

// Whether each page can be written.
static void show_writable(const char* what, char* memory, size_t pages) {
  char text[400];
  int size = snprintf(text, sizeof text, "%s:", what);
  for (volatile size_t i = 0; i < pages; ++i) {
    int number = sigsetjmp(escape_, 1);
    if (number == 0) *(volatile char*)(memory + i * kPage) = 'w';
    const char* how = number == 0 ? "writable" : number == SIGBUS ? "SIGBUS" : "SIGSEGV";
    size += snprintf(text + size, sizeof text - (size_t)size, " %s", how);
  }
  say("%s\n", text);
}

static void show_status(const char* what, int status) {
  if (WIFSIGNALED(status))
    say("%s: signal %d\n", what, WTERMSIG(status));
  else
    say("%s: exit %d\n", what, WEXITSTATUS(status));
}

static int wait_for(pid_t child) {
  int status = -1;
  check(waitpid(child, &status, 0) == child, "waitpid");
  return status;
}

static int run_cases(const struct Case* cases, size_t count, int argc, char** argv) {
  catch_faults();
  for (size_t i = 0; i < count; ++i) {
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
      say("%s\n", cases[i].name);
    } else if (argc < 2 || strcmp(argv[1], cases[i].name) == 0) {
      cases[i].run();
      if (argc > 1) return 0;
    }
  }
  return argc < 2 || strcmp(argv[1], "list") == 0 ? 0 : 2;
}

#define RUN_CASES(argc, argv) run_cases(cases, sizeof cases / sizeof cases[0], argc, argv)
