// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a debug module and the rdb that loads it know of each other, beyond the two tables that the link stage
// writes (__rdb_module_functions, __rdb_module_slots). C, so that nothing depends on a C++ ABI.
#ifndef RDB_MODULE_HOST_H
#define RDB_MODULE_HOST_H

#ifdef __cplusplus
extern "C" {
#endif

#define RDB_MODULE_HOST_VERSION 11
#define RDB_MODULE_READS 1u
#define RDB_MODULE_WRITES 2u

struct rdb_event;

// Where rdb and debug code lie; everything else is the program's (rdbtool/guest/memory/host_place.h).
struct rdb_host_place {
  unsigned long low_begin, low_size; // one range
  unsigned long high_begin;          // and all from here on
};

struct rdb_module_host {
  unsigned version;
  // Debug code called something that it must not do to its host (exit, fork ...). Does not return.
  void (*refuse)(const char* what);
  // Where calls of the program's functions go, with the function's address in r11, and those of other code
  // that is given memory of the program.
  void* guest_call;
  // Behind <rdb/events.h>. `how`: RDB_MODULE_READS, RDB_MODULE_WRITES. `size`: a time's value, too.
  unsigned long (*add_event)(int kind, const char* name, const void* address, unsigned long size,
                             unsigned how, void (*callback)(const struct rdb_event*), void* data);
  int (*remove_event)(unsigned long id);
  unsigned long (*time)(void);
  int (*thread)(void);
  unsigned long (*read)(const void* from, void* to, unsigned long size);
  const char* (*where)(const void* address);
  void (*print_backtrace)(void);
  unsigned long (*backtrace)(const void** addresses, unsigned long most);
  void (*vector_register)(unsigned index, unsigned char* to); // the low 16 bytes
  const void* (*stack_pointer)(void);
  const struct rdb_host_place* host_place;
  // The private FILE for one of the program's; refuses in the name of the function if there is none.
  void* (*file)(void* guest, const char* function);
  // The end of the stack that debug code runs on.
  const void* (*region_stack)(void);
  // Differs from one run of debug code to the next.
  unsigned long (*run_number)(void);
  // To be called before libc is used by code that rdb may have found to do without: see needs_libc().
  void (*use_libc)(void);
  // To be called before the program's memory is written to: it is undone when debug code ends.
  void (*keep)(const void* address, unsigned long size);
  // Is the descriptor rdb's?
  int (*is_own_file)(int file);
  // From now on whatever writes to the program's memory is noticed, but for the kernel, which gets an error.
  void (*guard)(void);
  // To be called before the kernel writes to the program's memory: as `keep`, and guard() lets it.
  void (*fill)(const void* address, unsigned long size);
  // To be called when a thread-local object was made.
  void (*destroy_in_thread)(void (*destroy)(void*), void* object);
  // As guest_call, for code that may write to memory of the program which it is not given.
  void* always_watched_call;
};

// Filled by rdb before any debug code runs.
extern const struct rdb_module_host* __rdb_module_host;

// The module's own copy, which the instrumented stores of debug code look at. Without rdb around, nothing is
// the program's.
extern __attribute__((visibility("hidden"))) struct rdb_host_place __rdb_host_place;

static inline int __rdb_is_programs(const void* memory) {
  unsigned long address = (unsigned long)memory;
  return address - __rdb_host_place.low_begin >= __rdb_host_place.low_size &&
         address < __rdb_host_place.high_begin;
}

// Short pieces of debug code run with the program's FS base and vector registers, unless their machine code
// shows that they need others (rdbtool/debug/regions/plain_code.h). A function of the module that may or may
// not need libc calls this first when it does; what follows the call is not looked at.
void __rdb_module_needs_libc(void);

// Before this memory is written to, whosever it is. rdb-clang calls it in front of stores to the program's.
void __rdb_keep(void* address, unsigned long size);
// The same if the kernel does it.
void __rdb_fill(void* address, unsigned long size);
// Before something runs that may write to the program's memory, nobody knows where. rdb-clang calls it in
// front of inline assembly.
void __rdb_guard(void);

#ifdef __cplusplus
}
#endif

#endif // RDB_MODULE_HOST_H
