// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints a value as a programmer would write it, whatever its type: __rdb_show(x). rdb print puts it into the
// regions that it makes; regions of your own may use it as well. Needs clang (the debug module is always
// compiled by it).
#ifndef RDB_SHOW_H
#define RDB_SHOW_H

// --- What C and C++ share

enum { __rdb_show_items = 16, __rdb_show_text = 200 };

static inline void __rdb_show_character(int c, int quote) {
  if (c == '\n')
    __builtin_printf("\\n");
  else if (c == '\t')
    __builtin_printf("\\t");
  else if (c == quote || c == '\\')
    __builtin_printf("\\%c", c);
  else if (c < 32 || c == 127)
    __builtin_printf("\\x%02x", (unsigned char)c);
  else
    __builtin_printf("%c", c);
}

static inline void __rdb_show_characters(const char* text, unsigned long length) {
  __builtin_printf("\"");
  for (unsigned long i = 0; i < length && i < __rdb_show_text; i++)
    __rdb_show_character(text[i], '"');
  __builtin_printf(length > __rdb_show_text ? "\"..." : "\"");
}

static inline void __rdb_show_string(const char* text) {
  if (!text) {
    __builtin_printf("null");
    return;
  }
  unsigned long length = 0;
  while (length <= __rdb_show_text && text[length])
    length++;
  __rdb_show_characters(text, length);
}

static inline void __rdb_show_char(char c) {
  __builtin_printf("%d '", c);
  __rdb_show_character(c, '\'');
  __builtin_printf("'");
}

static inline void __rdb_show_pointer(const volatile void* p) {
  if (p)
    __builtin_printf("%p", (void*)p);
  else
    __builtin_printf("null");
}

static inline void __rdb_show_double(double d) {
  __builtin_printf("%.15g", d);
}

// Gets a record in the pieces that clang makes of it ("%s%s %s = %d\n" with indentation, type, name and
// value; " {\n";
// "%s}\n") and prints it as {name = value, ...}.
static int __rdb_show_first; // the next field is the first of its record
static inline int __rdb_show_field(const char* format, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, format);
  if (format[0] == '%' && format[1] == 's' && format[2] == '%') {
    __builtin_va_arg(list, const char*);
    __builtin_va_arg(list, const char*);
    __builtin_printf(__rdb_show_first ? "%s = " : ", %s = ", __builtin_va_arg(list, const char*));
    format += sizeof "%s%s %s" - 1;
    if (format[1] == ':') { // the width of a bit-field
      __builtin_va_arg(list, unsigned long);
      format += sizeof " : %zu" - 1;
    }
    char rest[16] = "";
    for (unsigned i = 0; i + 1 < sizeof rest && format[i + 3] && format[i + 3] != '\n' && format[2] == ' ';
         i++)
      rest[i] = format[i + 3];
    if (rest[0]) __builtin_vprintf(rest, list);
    __rdb_show_first = 0;
  } else if (format[0] == ' ') {
    __builtin_printf("{");
    __rdb_show_first = 1;
  } else if (format[0] == '}' || format[2] == '}') {
    __builtin_printf("}");
    __rdb_show_first = 0;
  }
  __builtin_va_end(list);
  return 0;
}

#ifndef __cplusplus

// --- C

static inline void __rdb_show_bool(_Bool b) {
  __builtin_printf(b ? "true" : "false");
}
static inline void __rdb_show_signed(long long n) {
  __builtin_printf("%lld", n);
}
static inline void __rdb_show_unsigned(unsigned long long n) {
  __builtin_printf("%llu", n);
}
static inline void __rdb_show_long_double(long double d) {
  __builtin_printf("%Lg", d);
}

struct __rdb_show_none {
  char none;
};
#define __rdb_show_is_record(x) (__builtin_classify_type(x) == 12)

// An array of numbers arrives as a pointer; the size of what was written tells it from one.
#define __rdb_show_numbers(name, type, format)                                                               \
  static inline void name(const type* numbers, unsigned long size) {                                         \
    if (size == sizeof(void*) || !numbers) {                                                                 \
      __rdb_show_pointer(numbers);                                                                           \
      return;                                                                                                \
    }                                                                                                        \
    unsigned long count = size / sizeof(type);                                                               \
    for (unsigned long i = 0; i < count && i < __rdb_show_items; i++)                                        \
      __builtin_printf(i ? ", " format : "{" format, numbers[i]);                                            \
    __builtin_printf(count > __rdb_show_items ? ", ...}" : "}");                                             \
  }
__rdb_show_numbers(__rdb_show_ints, int, "%d") __rdb_show_numbers(__rdb_show_unsigneds, unsigned, "%u")
    __rdb_show_numbers(__rdb_show_longs, long, "%ld") __rdb_show_numbers(__rdb_show_doubles, double, "%.15g")

#define __rdb_show_value(x) __builtin_choose_expr(__rdb_show_is_record(x), 0, (x))
#define __rdb_show_kind(x)                                                                                   \
  _Generic(__rdb_show_value(x),                                                                              \
      _Bool: 1,                                                                                              \
      char: 2,                                                                                               \
      float: 3,                                                                                              \
      double: 3,                                                                                             \
      long double: 3,                                                                                        \
      char*: 4,                                                                                              \
      const char*: 4,                                                                                        \
      int*: 5,                                                                                               \
      const int*: 5,                                                                                         \
      unsigned*: 6,                                                                                          \
      const unsigned*: 6,                                                                                    \
      long*: 7,                                                                                              \
      const long*: 7,                                                                                        \
      double*: 8,                                                                                            \
      const double*: 8,                                                                                      \
      unsigned char: 9,                                                                                      \
      unsigned short: 9,                                                                                     \
      unsigned: 9,                                                                                           \
      unsigned long: 9,                                                                                      \
      unsigned long long: 9,                                                                                 \
      signed char: 10,                                                                                       \
      short: 10,                                                                                             \
      int: 10,                                                                                               \
      long: 10,                                                                                              \
      long long: 10,                                                                                         \
      default: 0)
// The value if it is of this kind, else a zero of the kind: every branch below must compile for every type.
#define __rdb_show_if(x, kinds, zero) __builtin_choose_expr(kinds, __rdb_show_value(x), zero)

#define __rdb_show(x)                                                                                        \
  ({                                                                                                         \
    enum { __rdb_k = __rdb_show_kind(x) };                                                                   \
    if (__rdb_show_is_record(x)) {                                                                           \
      __typeof__(__builtin_choose_expr(__rdb_show_is_record(x), (x), (struct __rdb_show_none){0})) __rdb_r = \
          __builtin_choose_expr(__rdb_show_is_record(x), (x), (struct __rdb_show_none){0});                  \
      __builtin_dump_struct(&__rdb_r, __rdb_show_field);                                                     \
    } else if (__rdb_k == 1) {                                                                               \
      __rdb_show_bool(__rdb_show_if(x, __rdb_show_kind(x) == 1, 0));                                         \
    } else if (__rdb_k == 2) {                                                                               \
      __rdb_show_char(__rdb_show_if(x, __rdb_show_kind(x) == 2, 0));                                         \
    } else if (__rdb_k == 3) {                                                                               \
      __rdb_show_double((double)__rdb_show_if(x, __rdb_show_kind(x) == 3, 0));                               \
    } else if (__rdb_k == 4) {                                                                               \
      __rdb_show_string(__rdb_show_if(x, __rdb_show_kind(x) == 4, (const char*)0));                          \
    } else if (__rdb_k == 5) {                                                                               \
      __rdb_show_ints(__rdb_show_if(x, __rdb_show_kind(x) == 5, (const int*)0), sizeof(x));                  \
    } else if (__rdb_k == 6) {                                                                               \
      __rdb_show_unsigneds(__rdb_show_if(x, __rdb_show_kind(x) == 6, (const unsigned*)0), sizeof(x));        \
    } else if (__rdb_k == 7) {                                                                               \
      __rdb_show_longs(__rdb_show_if(x, __rdb_show_kind(x) == 7, (const long*)0), sizeof(x));                \
    } else if (__rdb_k == 8) {                                                                               \
      __rdb_show_doubles(__rdb_show_if(x, __rdb_show_kind(x) == 8, (const double*)0), sizeof(x));            \
    } else if (__rdb_k == 9) {                                                                               \
      __rdb_show_unsigned(__rdb_show_if(x, __rdb_show_kind(x) == 9, 0));                                     \
    } else if (__rdb_k == 10) {                                                                              \
      __rdb_show_signed(__rdb_show_if(x, __rdb_show_kind(x) == 10, 0));                                      \
    } else {                                                                                                 \
      __rdb_show_pointer((const void*)__rdb_show_if(                                                         \
          x, __rdb_show_kind(x) == 0 && __builtin_classify_type(x) == 5, (const void*)0));                   \
    }                                                                                                        \
  })

#else

// --- C++

#include <type_traits>

namespace __rdb {

template <int N>
struct Rank : Rank<N - 1> {};
template <>
struct Rank<0> {};

template <typename T>
void show(const T& value);

template <typename T>
void show_ranked(const T& value, Rank<0>) {
  __builtin_dump_struct(__builtin_addressof(value), __rdb_show_field);
}
template <typename T, typename = decltype(static_cast<const volatile void*>(std::declval<const T&>().get()))>
void show_ranked(const T& value, Rank<1>) {
  __rdb_show_pointer(value.get());
}
template <typename T, typename = decltype(std::declval<const T&>().begin()),
          typename = decltype(std::declval<const T&>().end())>
void show_ranked(const T& value, Rank<2>) {
  int count = 0;
  __builtin_printf("{");
  for (const auto& item : value) {
    if (count == __rdb_show_items) {
      __builtin_printf(", ...");
      break;
    }
    if (count++) __builtin_printf(", ");
    show(item);
  }
  __builtin_printf("}");
}
template <typename T, typename = decltype(std::declval<const T&>().first),
          typename = decltype(std::declval<const T&>().second)>
void show_ranked(const T& value, Rank<3>) {
  show(value.first);
  __builtin_printf(": ");
  show(value.second);
}
template <typename T,
          typename = typename std::enable_if<
              std::is_convertible<decltype(std::declval<const T&>().data()), const char*>::value>::type,
          typename = decltype(std::declval<const T&>().size()),
          typename = decltype(std::declval<const T&>().substr(0))>
void show_ranked(const T& value, Rank<4>) {
  __rdb_show_characters(value.data(), value.size());
}
template <typename T, unsigned long N>
void show_ranked(const T (&value)[N], Rank<5>) {
  __builtin_printf("{");
  for (unsigned long i = 0; i < N && i < __rdb_show_items; i++) {
    if (i) __builtin_printf(", ");
    show(value[i]);
  }
  __builtin_printf(N > __rdb_show_items ? ", ...}" : "}");
}
template <unsigned long N>
void show_ranked(const char (&value)[N], Rank<6>) {
  __rdb_show_string(value);
}
template <
    typename T,
    typename = typename std::enable_if<std::is_pointer<T>::value || std::is_null_pointer<T>::value>::type,
    typename = void>
void show_ranked(const T& value, Rank<7>) {
  __rdb_show_pointer((const volatile void*)value);
}
template <typename T, typename = typename std::enable_if<std::is_enum<T>::value>::type, typename = void,
          typename = void>
void show_ranked(const T& value, Rank<8>) {
  show(static_cast<typename std::underlying_type<T>::type>(value));
}
template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type, typename = void,
          typename = void, typename = void>
void show_ranked(const T& value, Rank<9>) {
  if (std::is_floating_point<T>::value)
    __rdb_show_double(static_cast<double>(value));
  else if (std::is_signed<T>::value)
    __builtin_printf("%lld", static_cast<long long>(value));
  else
    __builtin_printf("%llu", static_cast<unsigned long long>(value));
}
template <typename T, typename = typename std::enable_if<std::is_same<T, bool>::value>::type, typename = void,
          typename = void, typename = void, typename = void>
void show_ranked(const T& value, Rank<10>) {
  __builtin_printf(value ? "true" : "false");
}
template <typename T, typename = typename std::enable_if<std::is_same<T, char>::value>::type, typename = void,
          typename = void, typename = void, typename = void, typename = void>
void show_ranked(const T& value, Rank<11>) {
  __rdb_show_char(value);
}
template <
    typename T,
    typename =
        typename std::enable_if<std::is_same<T, const char*>::value || std::is_same<T, char*>::value>::type,
    typename = void, typename = void, typename = void, typename = void, typename = void, typename = void>
void show_ranked(const T& value, Rank<12>) {
  __rdb_show_string(value);
}

template <typename T>
void show(const T& value) {
  show_ranked(value, Rank<12>());
}

} // namespace __rdb

#define __rdb_show(x) ::__rdb::show(x)

#endif

#endif // RDB_SHOW_H
