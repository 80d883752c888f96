#include <pthread.h>
#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *kept;
long uses_memory(long n) {
  char *big = malloc(1 << 20), *small = malloc(100);
  memset(big, 1, 1 << 20);
  big = realloc(big, 3 << 20);
  small = realloc(small, 60000);
  memset(small, 2, 60000);
  char *clear = calloc(1, 100000);
  long result = n + big[1000] + small[50000] + clear[99999];
  kept = realloc(kept, 5 << 20);
  kept[4 << 20] = 1;
  free(big);
  free(small);
  return result;
}
static void *work(void *n) {
  long value = *(long *)n;
  rdb_begin
    printf("memory %ld %ld\n", uses_memory(value), uses_memory(value + 1));
  rdb_end
  value++;
  rdb_begin
    if (value > 0) *(volatile int *)8 = 1;
  rdb_end
  return (void *)uses_memory(value);
}
int main(void) {
  pthread_t thread;
  long n = 5;
  void *result;
  kept = malloc(1 << 20);
  kept[7] = 3;
  pthread_create(&thread, 0, work, &n);
  pthread_join(thread, &result);
  printf("%ld %d %d\n", (long)result, kept[7], kept[4 << 20]);
  return 0;
}
