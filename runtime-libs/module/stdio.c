// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The private stdio must not touch a FILE of the program. The program's stdout and stderr stand for the
// private ones; any other is refused by name.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime-libs/module/module_host.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

static FILE* own(FILE* file, const char* function) {
  if (__rdb_module_host == 0 || (unsigned long)file >= __rdb_module_host->guest_end || file == 0) return file;
  return __rdb_module_host->file(file, function);
}

// libc's function of that name; this module's stands in front of it.
#define REAL(name)                                                                                           \
  static __typeof__(&name) real;                                                                             \
  if (real == 0) *(void**)&real = dlsym(RTLD_NEXT, #name);

#define FIRST(type, name)                                                                                    \
  type(name)(FILE * file) {                                                                                  \
    REAL(name)                                                                                               \
    return real(own(file, #name));                                                                           \
  }
#define SECOND(type, name, A)                                                                                \
  type(name)(A a, FILE * file) {                                                                             \
    REAL(name)                                                                                               \
    return real(a, own(file, #name));                                                                        \
  }

FIRST(int, fclose)
FIRST(int, fflush)
FIRST(int, fgetc)
FIRST(int, getc)
FIRST(int, feof)
FIRST(int, ferror)
FIRST(int, fileno)
FIRST(long, ftell)
SECOND(int, fputc, int)
SECOND(int, putc, int)
SECOND(int, putc_unlocked, int)
SECOND(int, fputs, const char*)
SECOND(int, ungetc, int)

void(clearerr)(FILE* file) {
  REAL(clearerr)
  real(own(file, "clearerr"));
}
void(rewind)(FILE* file) {
  REAL(rewind)
  real(own(file, "rewind"));
}
int(fseek)(FILE* file, long offset, int whence) {
  REAL(fseek)
  return real(own(file, "fseek"), offset, whence);
}
int(setvbuf)(FILE* file, char* buffer, int mode, size_t size) {
  REAL(setvbuf)
  return real(own(file, "setvbuf"), buffer, mode, size);
}
char*(fgets)(char* text, int size, FILE* file) {
  REAL(fgets)
  return real(text, size, own(file, "fgets"));
}
size_t(fread)(void* items, size_t size, size_t count, FILE* file) {
  REAL(fread)
  return real(items, size, count, own(file, "fread"));
}
size_t(fwrite)(const void* items, size_t size, size_t count, FILE* file) {
  REAL(fwrite)
  return real(items, size, count, own(file, "fwrite"));
}
static int print(FILE* file, const char* format, va_list list) {
  REAL(vfprintf)
  return real(file, format, list);
}
int(vfprintf)(FILE* file, const char* format, va_list list) {
  return print(own(file, "vfprintf"), format, list);
}
int(fprintf)(FILE* file, const char* format, ...) {
  va_list list;
  va_start(list, format);
  int result = print(own(file, "fprintf"), format, list);
  va_end(list);
  return result;
}
// What _FORTIFY_SOURCE makes of them.
int __fprintf_chk(FILE* file, int flag, const char* format, ...);
int __fprintf_chk(FILE* file, int flag, const char* format, ...) {
  (void)flag;
  va_list list;
  va_start(list, format);
  int result = print(own(file, "fprintf"), format, list);
  va_end(list);
  return result;
}
