// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The private stdio must not touch a FILE of the program. The program's stdout and stderr stand for the
// private ones; any other is refused by name.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime-libs/module/libc.h"

#include <stdarg.h>
#include <string.h>
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
int(fseeko)(FILE* file, off_t offset, int whence) {
  REAL(fseeko)
  return real(own(file, "fseeko"), offset, whence);
}
// A stream of debug code would write to such a buffer when nobody expects it any more.
static void refuse_memory(const void* buffer, const char* refused) {
  if (buffer != 0 && __rdb_is_programs(buffer)) __rdb_module_host->refuse(refused);
}
int(setvbuf)(FILE* file, char* buffer, int mode, size_t size) {
  refuse_memory(buffer, "setvbuf with memory of the program");
  REAL(setvbuf)
  return real(own(file, "setvbuf"), buffer, mode, size);
}
void(setbuf)(FILE* file, char* buffer) {
  refuse_memory(buffer, "setbuf with memory of the program");
  REAL(setbuf)
  real(own(file, "setbuf"), buffer);
}
void(setbuffer)(FILE* file, char* buffer, size_t size) {
  refuse_memory(buffer, "setbuffer with memory of the program");
  REAL(setbuffer)
  real(own(file, "setbuffer"), buffer, size);
}
FILE*(fmemopen)(void* buffer, size_t size, const char* mode) {
  if (mode[0] != 'r' || strchr(mode, '+') != 0)
    refuse_memory(buffer, "fmemopen for writing with memory of the program");
  REAL(fmemopen)
  return real(buffer, size, mode);
}
FILE*(open_memstream)(char** text, size_t* size) {
  refuse_memory(text, "open_memstream with a variable of the program");
  refuse_memory(size, "open_memstream with a variable of the program");
  REAL(open_memstream)
  return real(text, size);
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
// They change the size of a text that is the program's, which only its own libc can.
static void keep_line(char** text, size_t* size, const char* refused) {
  refuse_memory(*text, refused);
  __rdb_keep(text, sizeof *text);
  __rdb_keep(size, sizeof *size);
}
ssize_t(getdelim)(char** text, size_t* size, int end, FILE* file) {
  keep_line(text, size, "getdelim with memory of the program");
  REAL(getdelim)
  return real(text, size, end, own(file, "getdelim"));
}
ssize_t(getline)(char** text, size_t* size, FILE* file) {
  keep_line(text, size, "getline with memory of the program");
  REAL(getline)
  return real(text, size, own(file, "getline"));
}
// As guard_counts().
static void guard_wide_counts(const wchar_t* format) {
  while ((format = wcschr(format, L'%')) != 0) {
    format += 1 + wcsspn(format + 1, L"-+ #0123456789*.'$Ilhjztq");
    if (*format == L'n') __rdb_guard();
    if (*format != 0) ++format;
  }
}
int(vfwprintf)(FILE* file, const wchar_t* format, va_list list) {
  guard_wide_counts(format);
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
  __rdb_fill(items, size * count);
  REAL(fread)
  return real(items, size, count, own(file, "fread"));
}
// What _FORTIFY_SOURCE makes of them.
char* __fgets_chk(char* text, size_t room, int size, FILE* file);
char* __fgets_chk(char* text, size_t room, int size, FILE* file) {
  if (size > 0) __rdb_keep(text, (unsigned long)size);
  REAL(__fgets_chk)
  return real(text, room, size, own(file, "fgets"));
}
size_t __fread_chk(void* items, size_t room, size_t size, size_t count, FILE* file);
size_t __fread_chk(void* items, size_t room, size_t size, size_t count, FILE* file) {
  __rdb_fill(items, size * count);
  REAL(__fread_chk)
  return real(items, room, size, count, own(file, "fread"));
}
size_t(fread_unlocked)(void* items, size_t size, size_t count, FILE* file) {
  __rdb_fill(items, size * count);
  REAL(fread_unlocked)
  return real(items, size, count, own(file, "fread_unlocked"));
}
size_t(fwrite)(const void* items, size_t size, size_t count, FILE* file) {
  REAL(fwrite)
  return real(items, size, count, own(file, "fwrite"));
}

// std::ios::sync_with_stdio(): with buffers of its own std::cout would keep what is to be shown when the
// region ends. It says how it was.
_Bool _ZNSt8ios_base15sync_with_stdioEb(_Bool sync);
_Bool _ZNSt8ios_base15sync_with_stdioEb(_Bool sync) {
  (void)sync;
  return 1;
}
