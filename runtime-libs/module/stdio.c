// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The private stdio must not touch a FILE of the program. The program's stdout and stderr stand for the
// private ones; any other is refused by name.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime-libs/module/libc.h"

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
