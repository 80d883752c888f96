// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What debug code does most is to print numbers and strings, so formats that hold nothing but plain
// conversions of those (%d %ld %u %x %s %c %p ...) are carried out here, in a quarter of the time that libc
// takes. Anything else (widths, floating point ...) is libc's.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime-libs/module/libc.h"
#include "runtime-libs/module/print_plain.h"

enum { kMostPrinted = 1024 };

static int finish(char* to, size_t size, int length) {
  if (size > 0) to[(size_t)length < size ? (size_t)length : size - 1] = 0;
  return length;
}

static int write_out(FILE* file, const char* text, int length) {
  __rdb_module_needs_libc();
  REAL(fwrite)
  return length > 0 && real(text, 1, (size_t)length, file) != (size_t)length ? -1 : length;
}

__attribute__((noinline)) static int print_by_libc(FILE* file, const char* format, va_list list) {
  __rdb_module_needs_libc();
  guard_counts(format);
  REAL(vfprintf)
  return real(file, format, list);
}

__attribute__((noinline)) static int format_by_libc(char* to, size_t size, const char* format, va_list list) {
  __rdb_module_needs_libc();
  guard_counts(format);
  REAL(vsnprintf)
  return real(to, size, format, list);
}

// A list can be gone through once. It is begun anew for libc, not copied before: that takes as long as the
// rest.
#define BY_LIST(call)                                                                                        \
  {                                                                                                          \
    va_list list;                                                                                            \
    va_start(list, format);                                                                                  \
    length = call;                                                                                           \
    va_end(list);                                                                                            \
  }

int(snprintf)(char* to, size_t size, const char* format, ...) {
  __rdb_keep(to, size);
  int length;
  BY_LIST(__rdb_print_plainly(to, size, format, list))
  if (length != kNotPlain) return finish(to, size, length);
  BY_LIST(format_by_libc(to, size, format, list))
  return length;
}

int(vsnprintf)(char* to, size_t size, const char* format, va_list list) {
  __rdb_keep(to, size);
  va_list first;
  va_copy(first, list);
  int length = __rdb_print_plainly(to, size, format, first);
  va_end(first);
  return length != kNotPlain ? finish(to, size, length) : format_by_libc(to, size, format, list);
}

#define PRINT_TO(file)                                                                                       \
  char text[kMostPrinted];                                                                                   \
  int length;                                                                                                \
  BY_LIST(__rdb_print_plainly(text, sizeof text, format, list))                                              \
  if (length != kNotPlain && length <= kMostPrinted) return write_out(file, text, length);                   \
  BY_LIST(print_by_libc(file, format, list))                                                                 \
  return length;

int(printf)(const char* format, ...) {
  PRINT_TO(stdout)
}
int(fprintf)(FILE* file, const char* format, ...) {
  file = own(file, "fprintf");
  PRINT_TO(file)
}
int(vfprintf)(FILE* file, const char* format, va_list list) {
  return print_by_libc(own(file, "vfprintf"), format, list);
}
int(vprintf)(const char* format, va_list list) {
  return print_by_libc(stdout, format, list);
}
int(vdprintf)(int file, const char* format, va_list list) {
  guard_counts(format);
  REAL(vdprintf)
  return real(file, format, list);
}
int(dprintf)(int file, const char* format, ...) {
  int length;
  BY_LIST((vdprintf)(file, format, list))
  return length;
}
int(vasprintf)(char** text, const char* format, va_list list) {
  __rdb_keep(text, sizeof *text);
  guard_counts(format);
  REAL(vasprintf)
  return real(text, format, list);
}
int(asprintf)(char** text, const char* format, ...) {
  int length;
  BY_LIST((vasprintf)(text, format, list))
  return length;
}

// What _FORTIFY_SOURCE makes of them.
int __printf_chk(int flag, const char* format, ...);
int __printf_chk(int flag, const char* format, ...) {
  (void)flag;
  PRINT_TO(stdout)
}
int __fprintf_chk(FILE* file, int flag, const char* format, ...);
int __fprintf_chk(FILE* file, int flag, const char* format, ...) {
  (void)flag;
  file = own(file, "fprintf");
  PRINT_TO(file)
}
int __snprintf_chk(char* to, size_t size, int flag, size_t room, const char* format, ...);
int __snprintf_chk(char* to, size_t size, int flag, size_t room, const char* format, ...) {
  (void)flag;
  va_list list;
  va_start(list, format);
  int length = (vsnprintf)(to, size < room ? size : room, format, list);
  va_end(list);
  return length;
}
int __vsnprintf_chk(char* to, size_t size, int flag, size_t room, const char* format, va_list list);
int __vsnprintf_chk(char* to, size_t size, int flag, size_t room, const char* format, va_list list) {
  (void)flag;
  return (vsnprintf)(to, size < room ? size : room, format, list);
}
int __vfprintf_chk(FILE* file, int flag, const char* format, va_list list);
int __vfprintf_chk(FILE* file, int flag, const char* format, va_list list) {
  (void)flag;
  return (vfprintf)(file, format, list);
}
int __vprintf_chk(int flag, const char* format, va_list list);
int __vprintf_chk(int flag, const char* format, va_list list) {
  (void)flag;
  return (vprintf)(format, list);
}
