// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The event API as debug code calls it: each function is rdb's own, reached through the table that rdb fills.
#include "runtime-libs/include/rdb/events.h"

#include "runtime-libs/module/module_host.h"

static rdb_id add(enum rdb_event_kind kind, const char* name, const void* address, size_t size, unsigned how,
                  rdb_callback callback, void* data) {
  return __rdb_module_host->add_event(kind, name, address, size, how, callback, data);
}

rdb_id rdb_on_syscall_before(const char* name, rdb_callback callback, void* data) {
  return add(RDB_SYSCALL_BEFORE, name, 0, 0, 0, callback, data);
}
rdb_id rdb_on_syscall(const char* name, rdb_callback callback, void* data) {
  return add(RDB_SYSCALL_AFTER, name, 0, 0, 0, callback, data);
}
rdb_id rdb_on_call(const char* pattern, rdb_callback callback, void* data) {
  return add(RDB_CALL, pattern, 0, 0, 0, callback, data);
}
rdb_id rdb_on_return(const char* pattern, rdb_callback callback, void* data) {
  return add(RDB_RETURN, pattern, 0, 0, 0, callback, data);
}
rdb_id rdb_on_call_at(const void* function, rdb_callback callback, void* data) {
  return add(RDB_CALL, 0, function, 0, 0, callback, data);
}
rdb_id rdb_on_return_at(const void* function, rdb_callback callback, void* data) {
  return add(RDB_RETURN, 0, function, 0, 0, callback, data);
}
rdb_id rdb_on_write(const void* address, size_t size, rdb_callback callback, void* data) {
  return add(RDB_ACCESS_AFTER, 0, address, size, RDB_MODULE_WRITES, callback, data);
}
rdb_id rdb_on_read(const void* address, size_t size, rdb_callback callback, void* data) {
  return add(RDB_ACCESS_AFTER, 0, address, size, RDB_MODULE_READS, callback, data);
}
rdb_id rdb_on_access(const void* address, size_t size, rdb_callback callback, void* data) {
  return add(RDB_ACCESS_AFTER, 0, address, size, RDB_MODULE_READS | RDB_MODULE_WRITES, callback, data);
}
rdb_id rdb_on_write_before(const void* address, size_t size, rdb_callback callback, void* data) {
  return add(RDB_ACCESS_BEFORE, 0, address, size, RDB_MODULE_WRITES, callback, data);
}
rdb_id rdb_on_read_before(const void* address, size_t size, rdb_callback callback, void* data) {
  return add(RDB_ACCESS_BEFORE, 0, address, size, RDB_MODULE_READS, callback, data);
}
rdb_id rdb_on_access_before(const void* address, size_t size, rdb_callback callback, void* data) {
  return add(RDB_ACCESS_BEFORE, 0, address, size, RDB_MODULE_READS | RDB_MODULE_WRITES, callback, data);
}
rdb_id rdb_watch(const void* address, size_t size, rdb_callback callback) {
  return rdb_on_write(address, size, callback, 0);
}
rdb_id rdb_on_signal(rdb_callback callback, void* data) {
  return add(RDB_SIGNAL, 0, 0, 0, 0, callback, data);
}
rdb_id rdb_on_thread_start(rdb_callback callback, void* data) {
  return add(RDB_THREAD_START, 0, 0, 0, 0, callback, data);
}
rdb_id rdb_on_thread_end(rdb_callback callback, void* data) {
  return add(RDB_THREAD_END, 0, 0, 0, 0, callback, data);
}
rdb_id rdb_on_time(unsigned long time, rdb_callback callback, void* data) {
  return add(RDB_TIME, 0, 0, time, 0, callback, data);
}
rdb_id rdb_on_exit(rdb_callback callback, void* data) {
  return add(RDB_EXIT, 0, 0, 0, 0, callback, data);
}
int rdb_remove(rdb_id id) {
  return __rdb_module_host->remove_event(id);
}
unsigned long rdb_time(void) {
  return __rdb_module_host->time();
}
int rdb_thread(void) {
  return __rdb_module_host->thread();
}
size_t rdb_read(const void* from, void* to, size_t size) {
  return __rdb_module_host->read(from, to, size);
}
const char* rdb_where(const void* address) {
  return __rdb_module_host->where(address);
}
void rdb_print_backtrace(void) {
  __rdb_module_host->print_backtrace();
}
size_t rdb_backtrace(const void** addresses, size_t most) {
  return __rdb_module_host->backtrace(addresses, most);
}

static double double_register(unsigned index) {
  union {
    unsigned char bytes[16];
    double value;
  } whole = {{0}};
  __rdb_module_host->vector_register(index, whole.bytes);
  return whole.value;
}
static float float_register(unsigned index) {
  union {
    unsigned char bytes[16];
    float value;
  } whole = {{0}};
  __rdb_module_host->vector_register(index, whole.bytes);
  return whole.value;
}
double rdb_double_argument(unsigned index) {
  return double_register(index);
}
float rdb_float_argument(unsigned index) {
  return float_register(index);
}
double rdb_double_result(void) {
  return double_register(0);
}
float rdb_float_result(void) {
  return float_register(0);
}
unsigned long rdb_stack_argument(unsigned index) {
  unsigned long value = 0;
  // Above the return address.
  const char* place = (const char*)__rdb_module_host->stack_pointer() + 8 + 8ul * index;
  rdb_read(place, &value, sizeof value);
  return value;
}
