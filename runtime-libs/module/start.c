// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module's first constructor: rdb gives it what debug code needs before any other constructor runs, so
// that those of debug-only globals can register events and hold addresses of the program.
#include "runtime-libs/module/module_host.h"

extern __attribute__((visibility("default"))) void* __rdb_module_slots[];

__attribute__((visibility("default"), noinline)) void __rdb_module_needs_libc(void) {
  if (__rdb_module_host != 0 && __rdb_module_host->version >= 7) __rdb_module_host->use_libc();
}

// Defined by rdb itself; not there if something else loads the module.
__attribute__((weak, visibility("default"))) void rdb_module_starting(const struct rdb_module_host** host,
                                                                      void** slots);

__attribute__((constructor(101))) static void start(void) {
  if (rdb_module_starting != 0) rdb_module_starting(&__rdb_module_host, __rdb_module_slots);
}
