// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module's first constructor: rdb gives it what debug code needs before any other constructor runs, so
// that those of debug-only globals can register events and hold addresses of the program.
#include "runtime-libs/module/module_host.h"

extern __attribute__((visibility("default"))) void* __rdb_module_slots[];

__attribute__((visibility("default"), noinline)) void __rdb_module_needs_libc(void) {
  if (__rdb_module_host != 0) __rdb_module_host->use_libc();
}

// Functions to be called at the end, under the name of the module. It has no start files that would see to
// it.
extern void* __dso_handle __attribute__((visibility("hidden")));
int __cxa_atexit(void (*end)(void*), void* object, void* module);
void __cxa_finalize(void* module);
int atexit(void (*end)(void));
int atexit(void (*end)(void)) {
  return __cxa_atexit((void (*)(void*))end, 0, &__dso_handle);
}
__attribute__((visibility("default"))) void __rdb_module_finish(void);
void __rdb_module_finish(void) {
  __cxa_finalize(&__dso_handle);
}

// Defined by rdb itself; not there if something else loads the module.
__attribute__((weak, visibility("default"))) void rdb_module_starting(const struct rdb_module_host** host,
                                                                      void** slots);

struct rdb_host_place __rdb_host_place = {0, ~0ul, 0};

__attribute__((constructor(101))) static void start(void) {
  if (rdb_module_starting != 0) rdb_module_starting(&__rdb_module_host, __rdb_module_slots);
  if (__rdb_module_host != 0) __rdb_host_place = *__rdb_module_host->host_place;
}
