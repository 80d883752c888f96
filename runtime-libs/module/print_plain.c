// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled so that its machine code is seen to need general registers only (see CMakeLists.txt): debug code
// that does no more than this is run in half of the time.
#include "runtime-libs/module/print_plain.h"

#include "runtime-libs/module/module_host.h"

#include <stdint.h>
#include <string.h>

enum { kMostDigits = 24, kShort = 64 };

// Text that may not fit: it is counted to its end.
struct text {
  char* to;
  size_t room;
  size_t length;
};

static void put(struct text* text, const char* bytes, size_t size) {
  if (text->length < text->room) {
    size_t left = text->room - text->length;
    char* to = text->to + text->length;
    if (size < left) left = size;
    if (left > kShort) {
      __rdb_module_needs_libc();
      memcpy(to, bytes, left);
    } else {
      for (size_t i = 0; i < left; ++i)
        to[i] = bytes[i];
    }
  }
  text->length += size;
}

static size_t length_of(const char* string) {
  for (size_t length = 0; length < kShort; ++length)
    if (string[length] == 0) return length;
  __rdb_module_needs_libc();
  return strlen(string);
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

static size_t digits_of(uint64_t value) {
  size_t length = 1;
  for (; value >= 10000; value /= 10000)
    length += 4;
  return length + (value >= 10) + (value >= 100) + (value >= 1000);
}

static const char kPairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940"
    "4142434445464748495051525354555657585960616263646566676869707172737475767778798081"
    "828384858687888990919293949596979899";

static void put_decimal(struct text* text, uint64_t value, int negative) {
  size_t length = digits_of(value) + (size_t)negative;
  char spare[kMostDigits];
  char* place = put_begin(text, spare, length);
  char* at = place + length;
  for (; value > UINT32_MAX; value /= 100) {
    const char* pair = kPairs + value % 100 * 2;
    *--at = pair[1];
    *--at = pair[0];
  }
  uint32_t rest = (uint32_t)value;
  for (; rest > 9; rest /= 100) {
    const char* pair = kPairs + (size_t)(rest % 100) * 2;
    *--at = pair[1];
    *--at = pair[0];
  }
  if (at > place + negative) *--at = (char)('0' + rest);
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

int __rdb_print_plainly(char* to, size_t room, const char* format, va_list list) {
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
      put(&text, string, length_of(string));
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
