// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events: debug code that is called when something happens in the replay, not only at its place in the
// source. Callbacks are registered from any region or from a debug-only initialiser, and removed at any time.
// They see the program as it is at that moment, may call its functions, and change nothing in it. Included by
// <rdb/rdb.h>.
#ifndef RDB_EVENTS_H
#define RDB_EVENTS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rdb_event_kind {
  RDB_SYSCALL_BEFORE,
  RDB_SYSCALL_AFTER,
  RDB_CALL,
  RDB_RETURN,
  RDB_ACCESS_BEFORE,
  RDB_ACCESS_AFTER,
  RDB_SIGNAL,
  RDB_THREAD_START,
  RDB_THREAD_END,
  RDB_EXIT,
  RDB_TIME
};

struct rdb_registers {
  unsigned long rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15;
  unsigned long rip, rflags, fs_base, gs_base;
};

struct rdb_event {
  enum rdb_event_kind kind;
  int thread;
  unsigned long time;                    // instructions executed so far
  const struct rdb_registers* registers; // of the program's thread, now
  const void* pc;                        // the instruction that does it; that a signal comes before
  long number;                           // of the system call, signal or thread; the exit status
  unsigned long arguments[6];            // of a system call or a function, by the calling convention
  long result;                           // of a system call; what a function returned in rax
  const void* address;                   // the function; the watched memory; what a signal is about
  size_t size;                           // of the watched memory
  int is_write;
  int by_system_call;      // the access is no instruction's
  const void* touched;     // the part of the watched memory that is accessed
  size_t touched_size;     //
  const void* old_bytes;   // the watched memory before the access; NULL if it is larger than 64 KiB
  const void* new_bytes;   // the watched memory now
  const void* touched_old; // the part that is accessed, before
  const char* function;    // its name as linked; "" if unknown
  void* data;              // as registered
};

typedef void (*rdb_callback)(const struct rdb_event* event);
typedef unsigned long rdb_id; // of a registration; 0 if it failed, which a message has said

// Before a system call is made, and after it. Its name, such as "write", or its number in digits; NULL for
// all of them.
rdb_id rdb_on_syscall_before(const char* name, rdb_callback callback, void* data);
rdb_id rdb_on_syscall(const char* name, rdb_callback callback, void* data);
// Functions by name or pattern ("tree_*", "shop::Till::add"), of the program and its libraries: when they are
// entered, and when they have returned. Or by address.
rdb_id rdb_on_call(const char* pattern, rdb_callback callback, void* data);
rdb_id rdb_on_return(const char* pattern, rdb_callback callback, void* data);
rdb_id rdb_on_call_at(const void* function, rdb_callback callback, void* data);
rdb_id rdb_on_return_at(const void* function, rdb_callback callback, void* data);
// Memory: after an instruction or a system call has written to it, an instruction has read from it, either;
// and before that happens.
rdb_id rdb_on_write(const void* address, size_t size, rdb_callback callback, void* data);
rdb_id rdb_on_read(const void* address, size_t size, rdb_callback callback, void* data);
rdb_id rdb_on_access(const void* address, size_t size, rdb_callback callback, void* data);
rdb_id rdb_on_write_before(const void* address, size_t size, rdb_callback callback, void* data);
rdb_id rdb_on_read_before(const void* address, size_t size, rdb_callback callback, void* data);
rdb_id rdb_on_access_before(const void* address, size_t size, rdb_callback callback, void* data);
// The short form of rdb_on_write.
rdb_id rdb_watch(const void* address, size_t size, rdb_callback callback);
rdb_id rdb_on_signal(rdb_callback callback, void* data);
rdb_id rdb_on_thread_start(rdb_callback callback, void* data);
rdb_id rdb_on_thread_end(rdb_callback callback, void* data);
// When this many instructions are executed, once.
rdb_id rdb_on_time(unsigned long time, rdb_callback callback, void* data);
rdb_id rdb_on_exit(rdb_callback callback, void* data);
// 0, or -1 if there is no such registration. A callback may remove itself.
int rdb_remove(rdb_id id);

unsigned long rdb_time(void);
int rdb_thread(void);
// Copies from the program's memory as much as can be read; the number of bytes.
size_t rdb_read(const void* from, void* to, size_t size);
// "push at list.c:12"; valid until the next call.
const char* rdb_where(const void* address);
// Prints who called whom in the program.
void rdb_print_backtrace(void);
// The same as addresses, innermost first; their number, at most `most`.
size_t rdb_backtrace(const void** addresses, size_t most);
// In a callback of a function: the floating point argument with this index (from 0), the integer argument
// with this index of those on the stack (from 0), and what the function has returned.
double rdb_double_argument(unsigned index);
float rdb_float_argument(unsigned index);
unsigned long rdb_stack_argument(unsigned index);
double rdb_double_result(void);
float rdb_float_result(void);

#ifdef __cplusplus
} // extern "C"

namespace rdb {

// The same with anything that can be called with a const rdb_event&, such as a lambda. It lives until the
// replay ends.
template <class Function>
struct event_function {
  static void* keep(Function function) { return new Function(static_cast<Function&&>(function)); }
  static void call(const rdb_event* event) { (*static_cast<Function*>(event->data))(*event); }
};

template <class Function>
rdb_id on_syscall(const char* name, Function function) {
  return rdb_on_syscall(name, event_function<Function>::call, event_function<Function>::keep(function));
}
template <class Function>
rdb_id on_syscall_before(const char* name, Function function) {
  return rdb_on_syscall_before(name, event_function<Function>::call,
                               event_function<Function>::keep(function));
}
template <class Function>
rdb_id on_call(const char* pattern, Function function) {
  return rdb_on_call(pattern, event_function<Function>::call, event_function<Function>::keep(function));
}
template <class Function>
rdb_id on_return(const char* pattern, Function function) {
  return rdb_on_return(pattern, event_function<Function>::call, event_function<Function>::keep(function));
}
template <class Object, class Function>
rdb_id on_write(const Object& object, Function function) {
  return rdb_on_write(&object, sizeof object, event_function<Function>::call,
                      event_function<Function>::keep(function));
}
template <class Object, class Function>
rdb_id on_write_before(const Object& object, Function function) {
  return rdb_on_write_before(&object, sizeof object, event_function<Function>::call,
                             event_function<Function>::keep(function));
}
template <class Object, class Function>
rdb_id on_read(const Object& object, Function function) {
  return rdb_on_read(&object, sizeof object, event_function<Function>::call,
                     event_function<Function>::keep(function));
}
template <class Object, class Function>
rdb_id on_access(const Object& object, Function function) {
  return rdb_on_access(&object, sizeof object, event_function<Function>::call,
                       event_function<Function>::keep(function));
}
template <class Function>
rdb_id on_signal(Function function) {
  return rdb_on_signal(event_function<Function>::call, event_function<Function>::keep(function));
}
template <class Function>
rdb_id on_thread_start(Function function) {
  return rdb_on_thread_start(event_function<Function>::call, event_function<Function>::keep(function));
}
template <class Function>
rdb_id on_thread_end(Function function) {
  return rdb_on_thread_end(event_function<Function>::call, event_function<Function>::keep(function));
}
template <class Function>
rdb_id on_time(unsigned long time, Function function) {
  return rdb_on_time(time, event_function<Function>::call, event_function<Function>::keep(function));
}
template <class Function>
rdb_id on_exit(Function function) {
  return rdb_on_exit(event_function<Function>::call, event_function<Function>::keep(function));
}

} // namespace rdb
#endif

#endif // RDB_EVENTS_H
