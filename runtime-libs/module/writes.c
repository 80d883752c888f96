// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of libc that fill memory which they are given, or which is behind what they are given. If it is
// the program's, what they write is undone like what debug code writes itself. Of functions that are not
// here, calls with a pointer to the program's memory are watched (__rdb_watched_call).
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime-libs/module/libc.h"

#include <iconv.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
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
FILLS(void, qsort, (void* items, size_t n, size_t size, int (*order)(const void*, const void*)),
      (items, n, size, order), items, n* size)

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

// They cut a text in pieces, the rest of which they may know from an earlier call.
char*(strtok_r)(char* text, const char* at, char** rest) {
  char* from = text != 0 ? text : *rest;
  if (from != 0) __rdb_keep(from, strlen(from) + 1);
  __rdb_keep(rest, sizeof *rest);
  REAL(strtok_r)
  return real(text, at, rest);
}
char* __strtok_r(char* text, const char* at, char** rest) {
  return (strtok_r)(text, at, rest);
}
char*(strtok)(char* text, const char* at) {
  static char* rest;
  return (strtok_r)(text, at, &rest);
}
char*(strsep)(char** text, const char* at) {
  __rdb_keep(text, sizeof *text);
  if (*text != 0) __rdb_keep(*text, strlen(*text) + 1);
  REAL(strsep)
  return real(text, at);
}

wchar_t*(wcstok)(wchar_t * text, const wchar_t* at, wchar_t** rest) {
  wchar_t* from = text != 0 ? text : *rest;
  if (from != 0) __rdb_keep(from, (wcslen(from) + 1) * sizeof *from);
  __rdb_keep(rest, sizeof *rest);
  REAL(wcstok)
  return real(text, at, rest);
}
int(getsubopt)(char** text, char* const* names, char** value) {
  __rdb_keep(*text, strlen(*text) + 1);
  __rdb_keep(text, sizeof *text);
  __rdb_keep(value, sizeof *value);
  REAL(getsubopt)
  return real(text, names, value);
}
size_t(iconv)(iconv_t how, char** from, size_t* from_size, char** to, size_t* to_size) {
  if (from != 0) __rdb_keep(from, sizeof *from);
  if (from_size != 0) __rdb_keep(from_size, sizeof *from_size);
  if (to != 0 && to_size != 0) {
    __rdb_keep(*to, *to_size);
    __rdb_keep(to, sizeof *to);
    __rdb_keep(to_size, sizeof *to_size);
  }
  REAL(iconv)
  return real(how, from, from_size, to, to_size);
}

// The kernel writes there.
#define READS(type, name, arguments, passed, to, size)                                                       \
  type(name) arguments {                                                                                     \
    __rdb_fill(to, size);                                                                                    \
    REAL(name)                                                                                               \
    return real passed;                                                                                      \
  }
READS(ssize_t, read, (int file, void* to, size_t n), (file, to, n), to, n)
READS(ssize_t, pread, (int file, void* to, size_t n, off_t at), (file, to, n, at), to, n)
READS(ssize_t, pread64, (int file, void* to, size_t n, off64_t at), (file, to, n, at), to, n)
READS(ssize_t, recv, (int file, void* to, size_t n, int flags), (file, to, n, flags), to, n)
READS(ssize_t, getrandom, (void* to, size_t n, unsigned flags), (to, n, flags), to, n)

#define READS_PIECES(type, name, arguments, passed, pieces, count)                                           \
  type(name) arguments {                                                                                     \
    for (size_t i = 0; i < (size_t)(count); ++i)                                                             \
      __rdb_fill((pieces)[i].iov_base, (pieces)[i].iov_len);                                                 \
    REAL(name)                                                                                               \
    return real passed;                                                                                      \
  }
READS_PIECES(ssize_t, readv, (int file, const struct iovec* to, int n), (file, to, n), to, n)
READS_PIECES(ssize_t, preadv, (int file, const struct iovec* to, int n, off_t at), (file, to, n, at), to, n)
READS_PIECES(ssize_t, preadv64, (int file, const struct iovec* to, int n, off64_t at), (file, to, n, at), to,
             n)
READS_PIECES(ssize_t, preadv2, (int file, const struct iovec* to, int n, off_t at, int flags),
             (file, to, n, at, flags), to, n)
READS_PIECES(ssize_t, process_vm_readv,
             (pid_t process, const struct iovec* to, unsigned long n, const struct iovec* from,
              unsigned long m, unsigned long flags),
             (process, to, n, from, m, flags), to, n)
static void fill_message(struct msghdr* message) {
  __rdb_fill(message, sizeof *message);
  __rdb_fill(message->msg_name, message->msg_namelen);
  __rdb_fill(message->msg_control, message->msg_controllen);
  for (size_t i = 0; i < message->msg_iovlen; ++i)
    __rdb_fill(message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
}
ssize_t(recvmsg)(int file, struct msghdr* message, int flags) {
  fill_message(message);
  REAL(recvmsg)
  return real(file, message, flags);
}
int(recvmmsg)(int file, struct mmsghdr* messages, unsigned n, int flags, struct timespec* time) {
  for (unsigned i = 0; i < n; ++i) {
    __rdb_fill(&messages[i], sizeof messages[i]);
    fill_message(&messages[i].msg_hdr);
  }
  REAL(recvmmsg)
  return real(file, messages, n, flags, time);
}

// What texts are read into. All further arguments are pointers, not more than the format has conversions.
static void guard_scanned(const char* format, va_list list) {
  va_list some;
  va_copy(some, list);
  for (; *format != 0; ++format)
    if (*format == '%' && __rdb_is_programs(va_arg(some, void*))) {
      __rdb_guard();
      break;
    }
  va_end(some);
}
// Each by the names that standards of C have given it, since they differ in what they understand.
#define SCANS(prefix, kind, from, passed, first)                                                             \
  int rdb_v##kind##prefix(from, const char* format, va_list list) __asm__(#prefix "v" #kind);                \
  int rdb_v##kind##prefix(from, const char* format, va_list list) {                                          \
    guard_scanned(format, list);                                                                             \
    static int (*real)(from, const char*, va_list);                                                          \
    if (real == 0) *(void**)&real = dlsym(RTLD_NEXT, #prefix "v" #kind);                                     \
    return real(passed, format, list);                                                                       \
  }                                                                                                          \
  int rdb_##kind##prefix(from, const char* format, ...) __asm__(#prefix #kind);                              \
  int rdb_##kind##prefix(from, const char* format, ...) {                                                    \
    va_list list;                                                                                            \
    va_start(list, format);                                                                                  \
    int count = rdb_v##kind##prefix(first, format, list);                                                    \
    va_end(list);                                                                                            \
    return count;                                                                                            \
  }
#define SCANS_ALL(prefix)                                                                                    \
  SCANS(prefix, sscanf, const char* text, text, text)                                                        \
  SCANS(prefix, fscanf, FILE* file, own(file, "fscanf"), file)                                               \
  int rdb_vscanf##prefix(const char* format, va_list list) __asm__(#prefix "vscanf");                        \
  int rdb_vscanf##prefix(const char* format, va_list list) {                                                 \
    return rdb_vfscanf##prefix(stdin, format, list);                                                         \
  }                                                                                                          \
  int rdb_scanf##prefix(const char* format, ...) __asm__(#prefix "scanf");                                   \
  int rdb_scanf##prefix(const char* format, ...) {                                                           \
    va_list list;                                                                                            \
    va_start(list, format);                                                                                  \
    int count = rdb_vfscanf##prefix(stdin, format, list);                                                    \
    va_end(list);                                                                                            \
    return count;                                                                                            \
  }
SCANS_ALL()
SCANS_ALL(__isoc99_)
SCANS_ALL(__isoc23_)
int(vswscanf)(const wchar_t* text, const wchar_t* format, va_list list) {
  __rdb_guard();
  REAL(vswscanf)
  return real(text, format, list);
}

// How long a text becomes is known when it is made, once more.
static void keep_text(char* to, const char* format, va_list list) {
  guard_counts(format);
  if (!__rdb_is_programs(to)) return;
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
