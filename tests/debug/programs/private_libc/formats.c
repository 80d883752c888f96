#include <rdb/rdb.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
rdb_begin_globals
static int by_list(char *to, size_t size, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int result = vsnprintf(to, size, format, list);
  va_end(list);
  return result;
}
rdb_end_globals
static int by_list_too(char *to, size_t size, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int result = vsnprintf(to, size, format, list);
  va_end(list);
  return result;
}
#define PRINTS(by_list)                                                                          \
  char text[64], *none = 0;                                                                      \
  static char long_text[3000];                                                                   \
  memset(long_text, 'x', sizeof long_text - 1);                                                  \
  printf("%d %i %u|%d %d %d\n", 0, -1, 7u, INT_MIN, INT_MAX, 10);                               \
  printf("%ld %lld %lu %llu %zu\n", LONG_MIN, LLONG_MAX, ULONG_MAX, 10000000000ull, sizeof text);\
  printf("%u %lu %lu\n", UINT_MAX, 9999999999999999999ul, 10000000000000000000ul);              \
  printf("%x %X %lx %zX %x\n", 0u, 0xBEEFu, ULONG_MAX, (size_t)0xabc, 16u);                     \
  printf("%s%s%c%% %p %p\n", "", "text", 'c', (void *)0x1234, (void *)none);                    \
  printf("%s\n", none);                                                                         \
  printf("%5d|%-5d|%05d|%+d|% d|%.3d|%#x\n", 42, 42, 42, 42, 42, 42, 42);                       \
  printf("%hd %hhd %f %.2e %*d %.3s\n", 70000, 300, 1.5, 12345.678, 6, 7, "abcdef");            \
  printf("%s %d\n", long_text, 1);                                                              \
  printf("%d\n", printf("%s", ""));                                                             \
  for (size_t room = 0; room < 9; room++) {                                                      \
    memset(text, '#', sizeof text);                                                              \
    int a = snprintf(text, room, "%d", -12345);                                                  \
    int b = snprintf(text + 10, room, "ab%sde", "c");                                            \
    int c = by_list(text + 20, room, "%x%c", 0xabcdef, 'z');                                     \
    int d = by_list(text + 30, room, "%4d%s", 1, "zz");                                          \
    for (int i = 0; i < 40; i++) putchar(text[i] ? text[i] : '0');                               \
    fprintf(stdout, " %d %d %d %d\n", a, b, c, d);                                              \
  }
int main(void) {
  {
    PRINTS(by_list_too)
    fflush(stdout);
  }
  rdb_begin
    PRINTS(by_list)
  rdb_end
  return 0;
}
