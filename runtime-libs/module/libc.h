// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For functions of the module that stand in front of libc's.
#ifndef RDB_MODULE_LIBC_H
#define RDB_MODULE_LIBC_H

#include "runtime-libs/module/module_host.h"

#include <dlfcn.h>
#include <stdio.h>

// libc's function of that name.
#define REAL(name)                                                                                           \
  static __typeof__(&name) real;                                                                             \
  if (real == 0) *(void**)&real = dlsym(RTLD_NEXT, #name);

// The private FILE for one that may be the program's.
static inline FILE* own(FILE* file, const char* function) {
  if (file == 0 || !__rdb_is_programs(file)) return file;
  return __rdb_module_host->file(file, function);
}

// "%n" in a format has a number written to memory which is not known here.
static inline void guard_counts(const char* format) {
  while (*format != 0)
    if (*format++ == '%') {
      while (*format != 0 && (*format < 'A' || *format == 'l' || *format == 'h' || *format == 'j' ||
                              *format == 'z' || *format == 't' || *format == 'L' || *format == 'q'))
        ++format;
      if (*format == 'n') __rdb_guard();
      if (*format != 0) ++format;
    }
}

#endif // RDB_MODULE_LIBC_H
