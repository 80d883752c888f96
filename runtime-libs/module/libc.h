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
  if (__rdb_module_host == 0 || (unsigned long)file >= __rdb_module_host->guest_end || file == 0) return file;
  return __rdb_module_host->file(file, function);
}

#endif // RDB_MODULE_LIBC_H
