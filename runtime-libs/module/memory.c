// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects that functions of the program give to debug code have memory of the program's heap. Their
// destructors, compiled into the debug code, give it back to the private one, which would hand it out as its
// own: the program's memory would change. It is gone when the region ends, so there is nothing to do.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime-libs/module/libc.h"

#include <malloc.h>
#include <stdlib.h>

// Bound when the module is loaded: dlsym() may not work any more once debug code has broken the heap.
void __libc_free(void* memory);
void* __libc_realloc(void* memory, size_t size);

void __rdb_keep(void* address, unsigned long size) {
  if (size == 0 || !__rdb_is_programs(address)) return;
  __rdb_module_needs_libc();
  __rdb_module_host->keep(address, size);
}

void __rdb_fill(void* address, unsigned long size) {
  if (size == 0 || !__rdb_is_programs(address)) return;
  __rdb_module_needs_libc();
  __rdb_module_host->fill(address, size);
}

void __rdb_guard(void) {
  if (__rdb_module_host == 0) return;
  __rdb_module_needs_libc();
  __rdb_module_host->guard();
}

// A static object of an inline function is the program's: as such it is gone when the region ends.
int __cxa_atexit(void (*end)(void*), void* object, void* module);
int __cxa_atexit(void (*end)(void*), void* object, void* module) {
  if (object != 0 && __rdb_is_programs(object)) return 0;
  REAL(__cxa_atexit)
  return real(end, object, module);
}

// Threads are the program's: when one ends, libc does not know.
int __cxa_thread_atexit(void (*end)(void*), void* object, void* module);
int __cxa_thread_atexit(void (*end)(void*), void* object, void* module) {
  (void)module;
  if (__rdb_module_host != 0 && !__rdb_is_programs(object)) __rdb_module_host->destroy_in_thread(end, object);
  return 0;
}

// Before the C++ library changes a std::string of debug code: one that was moved from the program has its
// characters in the program's memory.
__attribute__((visibility("hidden"))) void __rdb_keep_text(const void* string, unsigned long character);
void __rdb_keep_text(const void* string, unsigned long character) {
  const struct {
    char* text;
    unsigned long length, capacity;
  }* parts = string;
  if (!__rdb_is_programs(parts)) __rdb_keep(parts->text, (parts->capacity + 1) * character);
}

void(free)(void* memory) {
  if (memory == 0 || __rdb_is_programs(memory)) return;
  __libc_free(memory);
}

static void refuse_guests(const void* memory, const char* what) {
  if (memory != 0 && __rdb_is_programs(memory)) __rdb_module_host->refuse(what);
}

// How large the program's block is, only its own libc knows.
void*(realloc)(void* memory, size_t size) {
  refuse_guests(memory, "realloc with memory of the program (rdb_guest(realloc) is the program's)");
  return __libc_realloc(memory, size);
}
void*(reallocarray)(void* memory, size_t count, size_t size) {
  refuse_guests(memory, "reallocarray with memory of the program (rdb_guest(reallocarray) is the program's)");
  REAL(reallocarray)
  return real(memory, count, size);
}
size_t(malloc_usable_size)(void* memory) {
  refuse_guests(
      memory,
      "malloc_usable_size with memory of the program (rdb_guest(malloc_usable_size) is the program's)");
  REAL(malloc_usable_size)
  return real(memory);
}

// What these are given is used by later calls of functions that are not watched: rand(), and every stream
// that is made.
char*(initstate)(unsigned seed, char* state, size_t size) {
  refuse_guests(state, "initstate with memory of the program");
  REAL(initstate)
  return real(seed, state, size);
}
char*(setstate)(char* state) {
  refuse_guests(state, "setstate with memory of the program");
  REAL(setstate)
  return real(state);
}
#define GLOBAL "_ZNSt6locale6globalERKS_"
void* rdb_locale_global(void* result, void* const* locale) __asm__(GLOBAL);
void* rdb_locale_global(void* result, void* const* locale) {
  refuse_guests(*locale, "std::locale::global with a locale of the program");
  static __typeof__(&rdb_locale_global) real;
  if (real == 0) *(void**)&real = dlsym(RTLD_NEXT, GLOBAL);
  return real(result, locale);
}

// operator delete and operator delete[]: the rest of their arguments says nothing that free() does not know.
// Debug code may have its own.
#define DELETE(name)                                                                                         \
  __attribute__((weak)) void name(void* memory);                                                             \
  void name(void* memory) {                                                                                  \
    free(memory);                                                                                            \
  }
DELETE(_ZdlPv)
DELETE(_ZdlPvm)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPv)
DELETE(_ZdaPvm)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdaPvRKSt9nothrow_t)
