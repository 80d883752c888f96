// A stack of the arguments; at its end the program crashes.
#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
struct item { int value; struct item *next; };
int total;
int pushes;
int count(struct item *s) { int n = 0; pushes += 100; for (; s; s = s->next) n++; return n; }
static struct item *push(struct item *stack, int value) {
  struct item *fresh = malloc(sizeof *fresh);
  fresh->value = value;
  fresh->next = stack;
  pushes++;
  rdb_begin
    printf("push %d on %d items, pushes %d\n", value, count(stack), pushes);
  rdb_end
  return fresh;
}
int main(int argc, char **argv) {
  struct item *stack = 0;
  for (int i = 1; i < argc; i++) stack = push(stack, atoi(argv[i]));
  printf("pushed %d\n", pushes);
  fflush(stdout);
  while (1) {
    total += stack->value;
    rdb_begin
      printf("total %d\n", total);
    rdb_end
    stack = stack->next;
  }
}
