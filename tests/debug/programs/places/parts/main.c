#include <rdb/rdb.h>
#include <stdio.h>
int area(int, int);
int volume(int, int, int);
int shared_calls(void);
int main(void) {
  int sum = 0;
  for (int i = 1; i < 4; i++) {
    int one = volume(i, i + 1, 2) + area(i, 2);
    rdb_begin
      printf("main i %d one %d calls %d area %d\n", i, one, shared_calls(), area(i, 1));
    rdb_end
    sum += one;
  }
  printf("sum %d calls %d\n", sum, shared_calls());
  return sum & 63;
}
