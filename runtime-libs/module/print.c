// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What debug code does most is to print numbers and strings, so formats that hold nothing but plain
// conversions of those (%d %ld %u %x %s %c %p ...) are carried out here, in a quarter of the time that libc
// takes. Anything else (widths, floating point ...) is libc's.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime-libs/module/libc.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { kNotPlain = -1, kMostDigits = 24, kMostPrinted = 1024 };

// Text that may not fit: it is counted to its end.
struct text {
  char* to;
  size_t room;
  size_t length;
};

static void put(struct text* text, const char* bytes, size_t size) {
  if (text->length < text->room) {
    size_t left = text->room - text->length;
    memcpy(text->to + text->length, bytes, size < left ? size : left);
  }
  text->length += size;
}

// Room for that many characters, which put_end() ends: in place if they fit, since to copy them costs more
// than to make them.
static char* put_begin(const struct text* text, char* spare, size_t length) {
  return text->room > text->length && text->room - text->length >= length ? text->to + text->length : spare;
}
static void put_end(struct text* text, const char* place, const char* spare, size_t length) {
  if (place == spare)
    put(text, spare, length);
  else
    text->length += length;
}

static void put_decimal(struct text* text, uint64_t value, int negative) {
  size_t length = negative ? 2 : 1;
  for (uint64_t least = 10; value >= least; least *= 10) {
    ++length;
    if (least > UINT64_MAX / 10) break;
  }
  char spare[kMostDigits];
  char* place = put_begin(text, spare, length);
  for (char* at = place + length; at > place + negative; value /= 10)
    *--at = (char)('0' + value % 10);
  if (negative) *place = '-';
  put_end(text, place, spare, length);
}

static void put_hexadecimal(struct text* text, uint64_t value, const char* figures) {
  size_t length = 1;
  for (uint64_t rest = value; rest > 15; rest >>= 4)
    ++length;
  char spare[kMostDigits];
  char* place = put_begin(text, spare, length);
  for (char* at = place + length; at > place; value >>= 4)
    *--at = figures[value & 15];
  put_end(text, place, spare, length);
}

// The number of characters of the whole, or kNotPlain.
static int print_plainly(char* to, size_t room, const char* format, va_list list) {
  struct text text = {to, room, 0};
  for (;;) {
    const char* begin = format;
    while (*format != 0 && *format != '%')
      ++format;
    if (format != begin) put(&text, begin, (size_t)(format - begin));
    if (*format == 0) break;
    ++format;
    int wide = 0;
    while (*format == 'l' || *format == 'z') {
      ++format;
      wide = 1;
    }
    switch (*format++) {
    case 'd':
    case 'i': {
      int64_t value = wide ? va_arg(list, int64_t) : va_arg(list, int);
      put_decimal(&text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
      continue;
    }
    case 'u':
      put_decimal(&text, wide ? va_arg(list, uint64_t) : va_arg(list, unsigned), 0);
      continue;
    case 'x':
      put_hexadecimal(&text, wide ? va_arg(list, uint64_t) : va_arg(list, unsigned), "0123456789abcdef");
      continue;
    case 'X':
      put_hexadecimal(&text, wide ? va_arg(list, uint64_t) : va_arg(list, unsigned), "0123456789ABCDEF");
      continue;
    default:
      break;
    }
    if (wide) return kNotPlain;
    switch (format[-1]) {
    case 's': {
      const char* string = va_arg(list, const char*);
      if (string == 0) string = "(null)";
      put(&text, string, strlen(string));
      continue;
    }
    case 'c': {
      char character = (char)va_arg(list, int);
      put(&text, &character, 1);
      continue;
    }
    case 'p': {
      const void* pointer = va_arg(list, const void*);
      if (pointer == 0) {
        put(&text, "(nil)", 5);
        continue;
      }
      put(&text, "0x", 2);
      put_hexadecimal(&text, (uint64_t)pointer, "0123456789abcdef");
      continue;
    }
    case '%':
      put(&text, "%", 1);
      continue;
    default:
      return kNotPlain;
    }
  }
  return text.length > INT32_MAX ? kNotPlain : (int)text.length;
}

static int finish(char* to, size_t size, int length) {
  if (size > 0) to[(size_t)length < size ? (size_t)length : size - 1] = 0;
  return length;
}

static int write_out(FILE* file, const char* text, int length) {
  REAL(fwrite)
  return length > 0 && real(text, 1, (size_t)length, file) != (size_t)length ? -1 : length;
}

static int print_by_libc(FILE* file, const char* format, va_list list) {
  REAL(vfprintf)
  return real(file, format, list);
}

// A list can be gone through once. It is begun anew for libc, not copied before: that takes as long as the
// rest.
#define BY_LIST(call)                                                                                        \
  {                                                                                                          \
    va_list list;                                                                                            \
    va_start(list, format);                                                                                  \
    length = call;                                                                                           \
    va_end(list);                                                                                            \
  }

int(snprintf)(char* to, size_t size, const char* format, ...) {
  REAL(vsnprintf)
  int length;
  BY_LIST(print_plainly(to, size, format, list))
  if (length != kNotPlain) return finish(to, size, length);
  BY_LIST(real(to, size, format, list))
  return length;
}

int(vsnprintf)(char* to, size_t size, const char* format, va_list list) {
  REAL(vsnprintf)
  va_list first;
  va_copy(first, list);
  int length = print_plainly(to, size, format, first);
  va_end(first);
  return length != kNotPlain ? finish(to, size, length) : real(to, size, format, list);
}

#define PRINT_TO(file)                                                                                       \
  char text[kMostPrinted];                                                                                   \
  int length;                                                                                                \
  BY_LIST(print_plainly(text, sizeof text, format, list))                                                    \
  if (length != kNotPlain && length <= kMostPrinted) return write_out(file, text, length);                   \
  BY_LIST(print_by_libc(file, format, list))                                                                 \
  return length;

int(printf)(const char* format, ...) {
  PRINT_TO(stdout)
}
int(fprintf)(FILE* file, const char* format, ...) {
  file = own(file, "fprintf");
  PRINT_TO(file)
}
int(vfprintf)(FILE* file, const char* format, va_list list) {
  return print_by_libc(own(file, "vfprintf"), format, list);
}

// What _FORTIFY_SOURCE makes of them.
int __printf_chk(int flag, const char* format, ...);
int __printf_chk(int flag, const char* format, ...) {
  (void)flag;
  PRINT_TO(stdout)
}
int __fprintf_chk(FILE* file, int flag, const char* format, ...);
int __fprintf_chk(FILE* file, int flag, const char* format, ...) {
  (void)flag;
  file = own(file, "fprintf");
  PRINT_TO(file)
}
