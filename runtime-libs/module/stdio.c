// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The private stdio must not touch a FILE of the program. The program's stdout and stderr stand for the
// private ones; any other is refused by name.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime-libs/module/libc.h"

#include <stdarg.h>
#include <wchar.h>

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

FIRST(int, fflush)
FIRST(int, fflush_unlocked)
FIRST(int, fgetc)
FIRST(int, fgetc_unlocked)
FIRST(int, getc)
FIRST(int, getc_unlocked)
FIRST(int, _IO_getc)
FIRST(int, feof)
FIRST(int, feof_unlocked)
FIRST(int, ferror)
FIRST(int, ferror_unlocked)
FIRST(int, fileno)
FIRST(int, fileno_unlocked)
FIRST(int, pclose)
FIRST(long, ftell)
FIRST(off_t, ftello)
FIRST(wint_t, fgetwc)
FIRST(wint_t, getwc)
FIRST(int, ftrylockfile)
SECOND(int, fputc, int)
SECOND(int, fputc_unlocked, int)
SECOND(int, putc, int)
SECOND(int, putc_unlocked, int)
SECOND(int, _IO_putc, int)
SECOND(int, fputs, const char*)
SECOND(int, fputs_unlocked, const char*)
SECOND(int, ungetc, int)
SECOND(wint_t, fputwc, wchar_t)
SECOND(wint_t, putwc, wchar_t)
SECOND(wint_t, ungetwc, wint_t)
SECOND(int, fputws, const wchar_t*)

// Where debug output goes is for rdb's options to say.
static FILE* own_to_close(FILE* file, const char* function, const char* refused) {
  file = own(file, function);
  if (__rdb_module_host != 0 && (file == stdin || file == stdout || file == stderr))
    __rdb_module_host->refuse(refused);
  return file;
}
int(fclose)(FILE* file) {
  REAL(fclose)
  return real(own_to_close(file, "fclose", "fclose with a standard stream"));
}
FILE*(freopen)(const char* name, const char* mode, FILE* file) {
  REAL(freopen)
  return real(name, mode, own_to_close(file, "freopen", "freopen with a standard stream"));
}

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
int(fseeko)(FILE* file, off_t offset, int whence) {
  REAL(fseeko)
  return real(own(file, "fseeko"), offset, whence);
}
void(setbuf)(FILE* file, char* buffer) {
  REAL(setbuf)
  real(own(file, "setbuf"), buffer);
}
void(setbuffer)(FILE* file, char* buffer, size_t size) {
  REAL(setbuffer)
  real(own(file, "setbuffer"), buffer, size);
}
void(setlinebuf)(FILE* file) {
  REAL(setlinebuf)
  real(own(file, "setlinebuf"));
}
void(flockfile)(FILE* file) {
  REAL(flockfile)
  real(own(file, "flockfile"));
}
void(funlockfile)(FILE* file) {
  REAL(funlockfile)
  real(own(file, "funlockfile"));
}
int(fwide)(FILE* file, int mode) {
  REAL(fwide)
  return real(own(file, "fwide"), mode);
}
ssize_t(getdelim)(char** text, size_t* size, int end, FILE* file) {
  REAL(getdelim)
  return real(text, size, end, own(file, "getdelim"));
}
ssize_t(getline)(char** text, size_t* size, FILE* file) {
  REAL(getline)
  return real(text, size, own(file, "getline"));
}
int(vfscanf)(FILE* file, const char* format, va_list list) {
  REAL(vfscanf)
  return real(own(file, "fscanf"), format, list);
}
// Also by the names that newer standards of C give it.
#define SCANS(name)                                                                                          \
  int name(FILE* file, const char* format, ...);                                                             \
  int name(FILE* file, const char* format, ...) {                                                            \
    va_list list;                                                                                            \
    va_start(list, format);                                                                                  \
    int count = (vfscanf)(file, format, list);                                                               \
    va_end(list);                                                                                            \
    return count;                                                                                            \
  }
SCANS(__isoc99_fscanf)
SCANS(__isoc23_fscanf)
int(vfwprintf)(FILE* file, const wchar_t* format, va_list list) {
  REAL(vfwprintf)
  return real(own(file, "fwprintf"), format, list);
}
int(fwprintf)(FILE* file, const wchar_t* format, ...) {
  va_list list;
  va_start(list, format);
  int count = (vfwprintf)(file, format, list);
  va_end(list);
  return count;
}
size_t(fwrite_unlocked)(const void* items, size_t size, size_t count, FILE* file) {
  REAL(fwrite_unlocked)
  return real(items, size, count, own(file, "fwrite_unlocked"));
}
char*(fgets)(char* text, int size, FILE* file) {
  if (size > 0) __rdb_keep(text, (unsigned long)size);
  REAL(fgets)
  return real(text, size, own(file, "fgets"));
}
size_t(fread)(void* items, size_t size, size_t count, FILE* file) {
  __rdb_keep(items, size * count);
  REAL(fread)
  return real(items, size, count, own(file, "fread"));
}
size_t(fwrite)(const void* items, size_t size, size_t count, FILE* file) {
  REAL(fwrite)
  return real(items, size, count, own(file, "fwrite"));
}
