// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the sys_* targets say what the kernel gave them. Facts are the same in every run; what differs from run
// to run (times, process ids, random bytes) is printed only with the argument "all", for a replay to repeat.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int report_all;

static inline void report_start(int argc, char** argv) {
  report_all = argc > 1 && strcmp(argv[1], "all") == 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
}

__attribute__((format(printf, 1, 2))) static inline void fact(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  putchar('\n');
}

__attribute__((format(printf, 1, 2))) static inline void changing(const char* format, ...) {
  if (!report_all) return;
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  putchar('\n');
}

static inline const char* outcome(long result) {
  static char text[4][40];
  static unsigned next;
  char* to = text[next++ % 4];
  if (result < 0) {
    snprintf(to, sizeof text[0], "%s", strerrorname_np(errno));
  } else {
    snprintf(to, sizeof text[0], "%ld", result);
  }
  return to;
}

// Outcomes kept for a line that also shows what the call wrote: arguments of a function have no order.
static const char* said[4] __attribute__((unused));

// FNV-1a: one number for many bytes.
static inline uint64_t hash(const void* bytes, size_t size) {
  uint64_t value = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i)
    value = (value ^ ((const unsigned char*)bytes)[i]) * 0x100000001b3;
  return value;
}

// What must hold for the rest to make sense.
#define MUST(condition)                                                                                      \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      printf("%s:%d: failed: %s (%s)\n", __FILE__, __LINE__, #condition, strerror(errno));                   \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)
