// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Classes of the C++ library as their objects lie in memory, up to the part that is looked at.
#ifndef RDB_MODULE_LOOKS_H
#define RDB_MODULE_LOOKS_H

#ifdef __cplusplus
extern "C" {
#endif

struct rdb_streambuf {
  const void* vtable;
  const void* get[3]; // begin, next, end
  const void* put[3];
  const void* locale;
};

struct rdb_ios {
  char ios_base[208];
  const void* locale;
  const void* tied;
  char fill[8];
  const struct rdb_streambuf* buffer;
};

// In the vtable of a stream, in words.
enum { RDB_OFFSET_OF_IOS = -3 };

// Not 0: there is such memory. rdb-clang calls them.
unsigned long __rdb_look_at_shared(const void* object);
unsigned long __rdb_look_at_stream(const void* object);
unsigned long __rdb_look_at_ios(const void* object);
unsigned long __rdb_look_at_buffer(const void* object);

#ifdef __cplusplus
}
#endif

#endif // RDB_MODULE_LOOKS_H
