// Static functions and variables, also of one name in two functions.
#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>
static char buffer[64];
static const char *names[] = {"zero", "one", "two"};
static int next(void) {
  static int counter = 5;
  counter += 2;
  rdb_begin
    printf("counter=%d\n", counter);
  rdb_end
  return counter;
}
static int other(void) {
  static int counter;
  rdb_begin
    printf("other counter=%d name=%s\n", counter, names[counter % 3]);
  rdb_end
  return ++counter;
}
int main(void) {
  for (int i = 0; i < 3; i++) {
    snprintf(buffer, sizeof buffer, "%d %d %s", next(), other(), names[i]);
    puts(buffer);
    rdb_begin
      printf("length %zu\n", strlen(buffer));
    rdb_end
  }
  return 0;
}
