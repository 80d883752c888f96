#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>
rdb_begin_globals
static void on_strlen(const struct rdb_event *e) {
  if (strstr(rdb_where((const char *)e->pc - 1), "main")) printf("strlen = %ld\n", e->result);
}
static void on_memcpy(const struct rdb_event *e) {
  const void *from[2];
  if (rdb_backtrace(from, 2) == 2 && strstr(rdb_where((const char *)from[1] - 1), "main"))
    printf("memcpy %lu\n", e->arguments[2]);
}
rdb_end_globals
char room[100];
int main(int argc, char **argv) {
  size_t n = strlen("before");
  if (FIRST) memcpy(room, argv[0], n);
  rdb_begin
    rdb_on_return("strlen", on_strlen, 0);
    rdb_on_call("mem*", on_memcpy, 0);
  rdb_end
  n += strlen("behind it");
  memcpy(room, argv[0], 5);
  return (int)n;
}
