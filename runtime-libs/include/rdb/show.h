// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints a value as a programmer would write it, whatever its type: __rdb_show(x). rdb print puts it into the
// regions that it makes; regions of your own may use it as well. Needs rdb-clang, which fills in what the
// type is made of.
#ifndef RDB_SHOW_H
#define RDB_SHOW_H

#ifdef __cplusplus
extern "C" {
#endif
void __rdb_show_value(const char* type, ...);
void __rdb_show_object(const char* type, const void* address);
int __rdb_show_readable(const void* address, unsigned long size);
#ifdef __cplusplus
}
#endif

#ifndef __cplusplus

#define __rdb_show(x) __rdb_show_value("", x)

#else

#include <type_traits>

// Containers are walked by their own iterators; what they hold and everything else goes by its layout.
namespace __rdb {

template <int N>
struct Rank : Rank<N - 1> {};
template <>
struct Rank<0> {};

template <typename T>
void show(const T& value);

template <typename T>
void show_ranked(const T& value, Rank<0>) {
  __rdb_show_object("", __builtin_addressof(value));
}
template <typename T, typename = decltype(std::declval<const T&>().begin()),
          typename = decltype(std::declval<const T&>().end())>
void show_ranked(const T& value, Rank<1>) {
  int count = 0;
  __builtin_printf("{");
  for (const auto& item : value) {
    if (count) __builtin_printf(", ");
    if (count++ == 16) {
      __builtin_printf("...");
      break;
    }
    show(item);
  }
  __builtin_printf("}");
}
template <typename T, typename = decltype(std::declval<const T&>().first),
          typename = decltype(std::declval<const T&>().second)>
void show_ranked(const T& value, Rank<2>) {
  show(value.first);
  __builtin_printf(": ");
  show(value.second);
}
template <typename T,
          typename = typename std::enable_if<
              std::is_convertible<decltype(std::declval<const T&>().data()), const char*>::value>::type,
          typename = decltype(std::declval<const T&>().size()),
          typename = decltype(std::declval<const T&>().substr(0))>
void show_ranked(const T& value, Rank<3>) {
  __rdb_show_object("", __builtin_addressof(value));
}
// A pointer to an object that has iterators is shown by them, if it points to one.
template <typename T, typename = typename std::enable_if<std::is_class<T>::value>::type,
          typename = decltype(std::declval<const T&>().begin())>
void show_ranked(T* const& value, Rank<4>) {
  if (!__rdb_show_readable(value, sizeof(T))) return __rdb_show_object("", __builtin_addressof(value));
  __builtin_printf("%p -> ", static_cast<const volatile void*>(value));
  show(*value);
}

template <typename T>
void show(const T& value) {
  show_ranked(value, Rank<4>());
}

} // namespace __rdb

#define __rdb_show(x) ::__rdb::show(x)

#endif

#endif // RDB_SHOW_H
