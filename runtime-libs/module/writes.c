// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of libc that fill memory which they are given. If it is the program's, what they write is undone
// like what debug code writes itself.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime-libs/module/libc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <wchar.h>

// The function, its arguments, how they are passed on, and how many bytes it may write to its first one.
#define FILLS(type, name, arguments, passed, to, size)                                                       \
  type(name) arguments {                                                                                     \
    __rdb_keep(to, size);                                                                                    \
    REAL(name)                                                                                               \
    return real passed;                                                                                      \
  }
// What _FORTIFY_SOURCE makes of it: the size of the room comes last.
#define FILLS_CHECKED(type, name, arguments, passed, to, size)                                               \
  type name arguments;                                                                                       \
  FILLS(type, name, arguments, passed, to, size)

FILLS(void*, memcpy, (void* to, const void* from, size_t n), (to, from, n), to, n)
FILLS(void*, memmove, (void* to, const void* from, size_t n), (to, from, n), to, n)
FILLS(void*, mempcpy, (void* to, const void* from, size_t n), (to, from, n), to, n)
FILLS(void*, memccpy, (void* to, const void* from, int c, size_t n), (to, from, c, n), to, n)
FILLS(void*, memset, (void* to, int c, size_t n), (to, c, n), to, n)
FILLS(void, bzero, (void* to, size_t n), (to, n), to, n)
FILLS(void, explicit_bzero, (void* to, size_t n), (to, n), to, n)
FILLS(void, bcopy, (const void* from, void* to, size_t n), (from, to, n), to, n)
FILLS(wchar_t*, wmemcpy, (wchar_t * to, const wchar_t* from, size_t n), (to, from, n), to, n * sizeof *to)
FILLS(wchar_t*, wmemset, (wchar_t * to, wchar_t c, size_t n), (to, c, n), to, n * sizeof *to)
FILLS(char*, strcpy, (char* to, const char* from), (to, from), to, strlen(from) + 1)
FILLS(char*, stpcpy, (char* to, const char* from), (to, from), to, strlen(from) + 1)
FILLS(char*, strncpy, (char* to, const char* from, size_t n), (to, from, n), to, n)
FILLS(char*, stpncpy, (char* to, const char* from, size_t n), (to, from, n), to, n)
FILLS(char*, strcat, (char* to, const char* from), (to, from), to, strlen(to) + strlen(from) + 1)
FILLS(char*, strncat, (char* to, const char* from, size_t n), (to, from, n), to,
      strlen(to) + strnlen(from, n) + 1)
FILLS(char*, strtok_r, (char* text, const char* at, char** rest), (text, at, rest), text,
      text != 0 ? strlen(text) + 1 : 0)
FILLS(char*, strtok, (char* text, const char* at), (text, at), text, text != 0 ? strlen(text) + 1 : 0)
FILLS(void, qsort, (void* items, size_t n, size_t size, int (*order)(const void*, const void*)),
      (items, n, size, order), items, n* size)
FILLS(ssize_t, read, (int file, void* to, size_t n), (file, to, n), to, n)
FILLS(ssize_t, pread, (int file, void* to, size_t n, off_t at), (file, to, n, at), to, n)

FILLS_CHECKED(void*, __memcpy_chk, (void* to, const void* from, size_t n, size_t room), (to, from, n, room),
              to, n)
FILLS_CHECKED(void*, __memmove_chk, (void* to, const void* from, size_t n, size_t room), (to, from, n, room),
              to, n)
FILLS_CHECKED(void*, __mempcpy_chk, (void* to, const void* from, size_t n, size_t room), (to, from, n, room),
              to, n)
FILLS_CHECKED(void*, __memset_chk, (void* to, int c, size_t n, size_t room), (to, c, n, room), to, n)
FILLS_CHECKED(char*, __strcpy_chk, (char* to, const char* from, size_t room), (to, from, room), to,
              strlen(from) + 1)
FILLS_CHECKED(char*, __stpcpy_chk, (char* to, const char* from, size_t room), (to, from, room), to,
              strlen(from) + 1)
FILLS_CHECKED(char*, __strncpy_chk, (char* to, const char* from, size_t n, size_t room), (to, from, n, room),
              to, n)
FILLS_CHECKED(char*, __strcat_chk, (char* to, const char* from, size_t room), (to, from, room), to,
              strlen(to) + strlen(from) + 1)
FILLS_CHECKED(char*, __strncat_chk, (char* to, const char* from, size_t n, size_t room), (to, from, n, room),
              to, strlen(to) + strnlen(from, n) + 1)

// How long a text becomes is known when it is made, once more.
static void keep_text(char* to, const char* format, va_list list) {
  if (__rdb_module_host == 0 || (unsigned long)to >= __rdb_module_host->guest_end) return;
  va_list first;
  va_copy(first, list);
  int length = vsnprintf(0, 0, format, first);
  va_end(first);
  if (length >= 0) __rdb_keep(to, (unsigned long)length + 1);
}

int(vsprintf)(char* to, const char* format, va_list list) {
  keep_text(to, format, list);
  REAL(vsprintf)
  return real(to, format, list);
}
int(sprintf)(char* to, const char* format, ...) {
  va_list list;
  va_start(list, format);
  int length = (vsprintf)(to, format, list);
  va_end(list);
  return length;
}
int __vsprintf_chk(char* to, int flag, size_t room, const char* format, va_list list);
int __vsprintf_chk(char* to, int flag, size_t room, const char* format, va_list list) {
  keep_text(to, format, list);
  REAL(__vsprintf_chk)
  return real(to, flag, room, format, list);
}
int __sprintf_chk(char* to, int flag, size_t room, const char* format, ...);
int __sprintf_chk(char* to, int flag, size_t room, const char* format, ...) {
  va_list list;
  va_start(list, format);
  int length = __vsprintf_chk(to, flag, room, format, list);
  va_end(list);
  return length;
}
