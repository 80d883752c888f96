// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shows a value as a programmer would write it. rdb-clang describes its type by a text, behind a digit that
// says how far pointers are followed:
//   b c               bool, char
//   i4, u8, f8,       integers and floating point numbers, by size
//   e i4, A=0,B=1,;   an enumeration and its names (without the spaces)
//   p TYPE            a pointer and what it points to; pv: that is not shown; pk: a function; pc: a string
//   a3,4,TYPE         an array of 3, each of 4 bytes
//   s NAME;BIT,TYPE NAME;BIT:WIDTH,TYPE }   a structure, by bits from its beginning
//   S W               std::string, std::string_view
//   V4,TYPE           std::vector of elements of 4 bytes
//   O4,TYPE           std::optional whose flag is behind 4 bytes
//   N40,name;         a container that is not shown, with its number of elements behind 40 bytes
//   ?name;            something else
#include "runtime-libs/include/rdb/show.h"

#include "runtime-libs/module/module_host.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kItems = 16, kText = 200, kRoom = 16384, kSpare = 64 };

// What is shown is put together here: one value at a time.
static char room[kRoom];
static size_t used;

static void put_bytes(const char* bytes, size_t size) {
  if (used + size + kSpare > kRoom) return;
  memcpy(room + used, bytes, size);
  used += size;
}

static void put(const char* text) {
  put_bytes(text, strlen(text));
}

__attribute__((format(printf, 1, 2))) static void put_format(const char* format, ...) {
  char text[400];
  va_list list;
  va_start(list, format);
  int size = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (size > 0) put_bytes(text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

// The program's memory may be anything: a pointer need not point anywhere.
static int load(const char* from, void* to, size_t size) {
  if (from == 0) return 0;
  if (!__rdb_is_programs(from)) {
    memcpy(to, from, size);
    return 1;
  }
  return __rdb_module_host->read(from, to, size) == size;
}

static const char kUnreadable[] = "<unreadable>";

// The same for a value that is to be shown: says if it cannot be. Nothing is said where there is no address.
static int fetch(const char* from, void* to, size_t size) {
  if (from == 0) return 0;
  if (load(from, to, size)) return 1;
  put(kUnreadable);
  return 0;
}

static void put_character(int c, int quote) {
  if (c == '\n')
    put("\\n");
  else if (c == '\t')
    put("\\t");
  else if (c == quote || c == '\\')
    put_format("\\%c", c);
  else if ((unsigned char)c < 32 || c == 127)
    put_format("\\x%02x", (unsigned char)c);
  else
    put_bytes((const char[]){(char)c}, 1);
}

static void put_characters(const char* text, size_t length) {
  put("\"");
  for (size_t i = 0; i < length && i < kText; i++) {
    char c;
    if (!load(text + i, &c, 1)) {
      put("\"");
      put(kUnreadable);
      return;
    }
    put_character(c, '"');
  }
  put(length > kText ? "\"..." : "\"");
}

static void put_string(const char* text) {
  size_t length = 0;
  char c = 0;
  while (length <= kText && load(text + length, &c, 1) && c != 0)
    length++;
  if (length == 0 && !load(text, &c, 1))
    put_format("%p %s", (const void*)text, kUnreadable);
  else
    put_characters(text, length);
}

static void put_char(char c) {
  put_format("%d '", c);
  put_character(c, '\'');
  put("'");
}

static long number(const char** type) {
  char* end;
  long value = strtol(*type, &end, 10);
  *type = end;
  return value;
}

// Shows the value of the type at an address; without an address only passes the type's text. Returns its end.
static const char* show(const char* type, const char* at);

static void put_wide(unsigned __int128 value) {
  char digits[40];
  size_t first = sizeof digits;
  do {
    digits[--first] = (char)('0' + (int)(value % 10));
    value /= 10;
  } while (value != 0);
  put_bytes(digits + first, sizeof digits - first);
}

static int load_integer(const char* at, long size, int is_signed, __int128* value) {
  unsigned char bytes[16] = {0};
  if (!fetch(at, bytes, (size_t)size < sizeof bytes ? (size_t)size : sizeof bytes)) return 0;
  if (is_signed && size > 0 && (bytes[size - 1] & 0x80)) memset(bytes + size, 0xFF, 16 - (size_t)size);
  memcpy(value, bytes, 16);
  return 1;
}

static void put_integer(__int128 value, int is_signed) {
  if (is_signed && value < 0) {
    put("-");
    value = -value;
  }
  put_wide((unsigned __int128)value);
}

// The name of an enumerator, or of several that make up the value.
static void put_enumerator(const char* names, __int128 value) {
  for (int together = 0; together < 2; together++) {
    __int128 left = value;
    size_t before = used;
    for (const char* name = names; *name != ';';) {
      const char* equals = strchr(name, '=');
      const char* end = equals + 1;
      long constant = number(&end);
      int fits = together ? constant > 0 && (constant & (constant - 1)) == 0 && (left & constant) != 0
                          : constant == value;
      if (fits) {
        if (used != before) put(" | ");
        put_bytes(name, (size_t)(equals - name));
        left &= ~(__int128)constant;
        if (!together) return;
      }
      name = end + 1;
    }
    if (together && left == 0 && value != 0) return;
    used = before;
  }
  put_integer(value, 1);
}

static const char* show_enum(const char* type, const char* at) {
  int is_signed = *type++ == 'i';
  long size = number(&type);
  const char* names = ++type;
  __int128 value;
  if (load_integer(at, size, is_signed, &value)) put_enumerator(names, value);
  return strchr(names, ';') + 1;
}

static const char* show_integer(const char* type, const char* at, int is_signed) {
  long size = number(&type);
  __int128 value;
  if (load_integer(at, size, is_signed, &value)) put_integer(value, is_signed);
  return type + 1;
}

static const char* show_floating(const char* type, const char* at) {
  long size = number(&type);
  union {
    float f;
    double d;
    long double l;
  } value;
  type++;
  if (!fetch(at, &value, (size_t)size)) return type;
  if (size == 4)
    put_format("%.7g", (double)value.f);
  else if (size == 8)
    put_format("%.15g", value.d);
  else
    put_format("%.18Lg", value.l);
  return type;
}

static const char* show_pointer(const char* type, const char* at) {
  const char* target = 0;
  char first;
  if (!fetch(at, &target, sizeof target)) return show(type, 0);
  if (target == 0) {
    put("null");
  } else if (*type == 'c') {
    put_string(target);
  } else if (*type == 'v') {
    put_format("%p", (const void*)target);
  } else if (*type == 'k') {
    put_format("%p <%s>", (const void*)target, __rdb_module_host->where(target));
  } else {
    put_format("%p -> ", (const void*)target);
    if (fetch(target, &first, 1)) return show(type, target);
  }
  return show(type, 0);
}

static const char* show_items(const char* type, const char* at, long count, long size) {
  if (at != 0 && *type == 'c') {
    // Characters: up to the end of the text, if it has one.
    long length = 0;
    char c = 1;
    while (length < count && load(at + length, &c, 1) && c != 0)
      length++;
    put_characters(at, (size_t)length);
    return type + 1;
  }
  if (at != 0) put("{");
  for (long i = 0; at != 0 && i < count; i++) {
    if (i != 0) put(", ");
    if (i == kItems) {
      put("...");
      break;
    }
    show(type, at + i * size);
  }
  if (at != 0) put("}");
  return show(type, 0);
}

static const char* show_array(const char* type, const char* at) {
  long count = number(&type);
  type++;
  long size = number(&type);
  return show_items(type + 1, at, count, size);
}

// A bit-field is copied to where a whole value of its type would be.
static const char* show_bits(const char* type, const char* at, long bit, long width) {
  unsigned char bytes[16] = {0}, value[16] = {0};
  size_t size = (size_t)((bit % 8 + width + 7) / 8);
  if (at == 0 || size > sizeof bytes || !fetch(at + bit / 8, bytes, size)) return show(type, 0);
  for (long i = 0; i < width; i++)
    if (bytes[(bit % 8 + i) / 8] >> ((bit % 8 + i) % 8) & 1) value[i / 8] |= (unsigned char)(1u << (i % 8));
  int is_signed = *type == 'i' || (*type == 'e' && type[1] == 'i');
  if (is_signed && width > 0 && value[(width - 1) / 8] >> ((width - 1) % 8) & 1)
    for (long i = width; i < 128; i++)
      value[i / 8] |= (unsigned char)(1u << (i % 8));
  return show(type, (const char*)value);
}

static const char* show_record(const char* type, const char* at) {
  if (at != 0) put("{");
  for (int first = 1; *type != '}'; first = 0) {
    const char* end = strchr(type, ';');
    if (at != 0) {
      if (!first) put(", ");
      put_bytes(type, (size_t)(end - type));
      put(" = ");
    }
    type = end + 1;
    long bit = number(&type);
    long width = 0;
    if (*type == ':') {
      type++;
      width = number(&type);
    }
    type++;
    type = width != 0 ? show_bits(type, at, bit, width) : show(type, at == 0 ? 0 : at + bit / 8);
  }
  if (at != 0) put("}");
  return type + 1;
}

static void show_text(const char* at, int view) {
  uint64_t words[2];
  if (fetch(at, words, sizeof words))
    put_characters((const char*)(uintptr_t)words[view ? 1 : 0], words[view ? 0 : 1]);
}

static const char* show_vector(const char* type, const char* at) {
  long size = number(&type);
  type++;
  uint64_t ends[2];
  if (!fetch(at, ends, sizeof ends)) return show(type, 0);
  if (ends[1] < ends[0]) {
    put(kUnreadable);
    return show(type, 0);
  }
  if (ends[0] == ends[1]) {
    put("{}");
    return show(type, 0);
  }
  return show_items(type, (const char*)(uintptr_t)ends[0], (long)(ends[1] - ends[0]) / size, size);
}

static const char* show_optional(const char* type, const char* at) {
  long flag = number(&type);
  type++;
  char engaged = 0;
  if (at != 0 && fetch(at + flag, &engaged, 1) && !engaged) put("nothing");
  return show(type, engaged ? at : 0);
}

static const char* show_count(const char* type, const char* at) {
  long offset = number(&type);
  const char* end = strchr(++type, ';');
  uint64_t count;
  if (at != 0 && fetch(at + offset, &count, sizeof count)) {
    put_bytes(type, (size_t)(end - type));
    put_format(" of %lu", (unsigned long)count);
  }
  return end + 1;
}

static const char* show(const char* type, const char* at) {
  char one;
  switch (*type++) {
  case 'b':
    if (fetch(at, &one, 1)) put(one ? "true" : "false");
    return type;
  case 'c':
    if (fetch(at, &one, 1)) put_char(one);
    return type;
  case 'i':
  case 'u':
    return show_integer(type, at, type[-1] == 'i');
  case 'f':
    return show_floating(type, at);
  case 'e':
    return show_enum(type, at);
  case 'p':
    return show_pointer(type, at);
  case 'a':
    return show_array(type, at);
  case 's':
    return show_record(type, at);
  case 'S':
  case 'W':
    if (at != 0) show_text(at, type[-1] == 'W');
    return type;
  case 'V':
    return show_vector(type, at);
  case 'O':
    return show_optional(type, at);
  case 'N':
    return show_count(type, at);
  case '?': {
    const char* end = strchr(type, ';');
    if (at != 0) {
      put("<");
      put_bytes(type, (size_t)(end - type));
      put(">");
    }
    return end + 1;
  }
  default: // v, k
    return type;
  }
}

void __rdb_show_object(const char* type, const void* address) {
  used = 0;
  if (*type != '\0') show(type + 1, address);
  if (used + 2 * kSpare > kRoom) {
    memcpy(room + used, "...", 3);
    used += 3;
  }
  fwrite(room, 1, used, stdout);
}

// As rdb-clang completes it, the value is an address here as well.
void __rdb_show_value(const char* type, ...) {
  va_list list;
  va_start(list, type);
  __rdb_show_object(type, va_arg(list, const void*));
  va_end(list);
}

int __rdb_show_readable(const void* address, unsigned long size) {
  char byte;
  const char* bytes = address;
  return load(bytes, &byte, 1) && load(bytes + size - 1, &byte, 1);
}
