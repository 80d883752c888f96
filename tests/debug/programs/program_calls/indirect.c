#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>
char text[40] = "abc";
int main(void) {
  int n = (int)strlen(text);
  rdb_begin
    printf("length %d\n", n);
    printf("%zu\n", rdb_guest(strlen)(text));
  rdb_end
  return n;
}
