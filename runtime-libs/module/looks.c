// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Would a function of the C++ library find memory of the program behind an object of debug code's own? Asked
// in front of calls that are given such objects; if so, the call is watched. The library is a shared one, so
// what is looked at here cannot change: the layout of its classes is part of its interface
// (tests/debug/stream_layout_test.cc).
#include "runtime-libs/module/looks.h"

#include "runtime-libs/module/module_host.h"

static int is_guests(const void* memory) {
  return memory != 0 && __rdb_is_programs(memory);
}

// An object whose first word points to what it has or shares. One of the program's own is changed by the
// program's function.
unsigned long __rdb_look_at_shared(const void* object) {
  return object != 0 && (is_guests(object) || is_guests(*(void* const*)object));
}

unsigned long __rdb_look_at_buffer(const void* object) {
  const struct rdb_streambuf* buffer = object;
  return buffer != 0 && (is_guests(buffer) || is_guests(buffer->get[0]) || is_guests(buffer->put[0]) ||
                         is_guests(buffer->locale));
}

unsigned long __rdb_look_at_ios(const void* object) {
  const struct rdb_ios* ios = object;
  return ios != 0 && (is_guests(ios->locale) || __rdb_look_at_buffer(ios->buffer));
}

// std::istream and std::ostream have a virtual base.
unsigned long __rdb_look_at_stream(const void* object) {
  if (object == 0 || is_guests(object)) return 0;
  const long* vtable = *(const long* const*)object;
  return __rdb_look_at_ios((const char*)object + vtable[RDB_OFFSET_OF_IOS]);
}
