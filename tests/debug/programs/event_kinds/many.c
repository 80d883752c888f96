#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#define COUNT 1000
static long *cells[COUNT];
static long calls;
long bump(long *cell) { calls++; return ++*cell; }
rdb_begin_globals
static rdb_id ids[COUNT];
static long hits, sum, on_stack, left, in_callback;
static void hit(const struct rdb_event *e) {
  hits++;
  sum += *(const long *)e->new_bytes - *(const long *)e->old_bytes;
  long k = (long)e->data;
  if (!in_callback++) bump(cells[k]); /* undone, and nobody is told */
  if (k % 2) left += rdb_remove(ids[k]) == 0;
}
static void stack_hit(const struct rdb_event *e) { on_stack++; }
rdb_end_globals
__attribute__((noinline)) int frame(int n) {
  volatile int local = n;
  rdb_begin
    if (n == 3) rdb_on_write((const void *)&local, sizeof local, stack_hit, 0);
  rdb_end
  local += n;
  return local;
}
int main(void) {
  for (long i = 0; i < COUNT; i++) cells[i] = calloc(1, 48);
  rdb_begin
    for (long k = 0; k < COUNT; k++) ids[k] = rdb_on_write(cells[k], sizeof(long), hit, (void *)k);
  rdb_end
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < COUNT; i++) { *cells[i] += i % 7; __asm__ volatile("" : : "r"(cells) : "memory"); }
  int total = 0;
  for (int i = 0; i < 10; i++) total += frame(i);
  rdb_begin
    printf("hits %ld, sum %ld, removed %ld, on stack %ld, calls %ld\n", hits, sum, left, on_stack, calls);
  rdb_end
  free(cells[0]);
  return total - 80;
}
