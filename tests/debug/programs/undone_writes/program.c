#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct pair { int a, b; long more[20]; };
static struct pair one = {1, 2, {0}}, two = {3, 4, {5}};
static struct pair *volatile first = &one, *volatile second = &two;
static char text[80] = "text";
static int table[5] = {5, 4, 3, 2, 1};
static void bump(struct pair *p) { p->a++; }
static inline int added(struct pair *p) { return p->a += 2; }
int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
rdb_begin_globals
static void fill(struct pair *p, int n) { p->a = n; memset(p->more, n, sizeof p->more); }
rdb_end_globals
int main(void) {
  char *volatile heap = malloc(100);
  strcpy(heap, "heap");
  for (int i = 0; i < 3; i++) {
    bump(first); added(second); text[0]++; table[0]++;
    rdb_begin
      bump(first); added(first); *second = *first; second->b++; first->a *= 2;
      printf("%d %d %d\n", first->a, second->a, second->b);
      fill(first, 1);
      __atomic_fetch_add(&first->b, 5, __ATOMIC_SEQ_CST);
      printf("%d %d %lx\n", first->a, first->b, first->more[19]);
    rdb_end
    table[1]++;
    rdb_begin
      strcpy(text, "other"); strcat(text, " text"); strncat(heap, " and more", 4); sprintf(text + 20, "%d", 42);
      snprintf(text + 30, 9, "%s", "many words");
      memmove(heap + 20, text, 11);
      printf("%s %s %s %s %s\n", text, heap, text + 20, text + 30, heap + 20);
      strtok(heap, " ");
      void *(*volatile by_pointer)(void *, int, size_t) = memset;
      by_pointer(text, 'x', 3);
      qsort(table, 5, sizeof *table, order);
      printf("%.5s %d %d %s\n", text, table[0], table[4], heap);
    rdb_end
    table[2]++;
  }
  printf("%d %d %d %s %s %d\n", one.a, two.a, two.b, text, heap, table[0] + table[1] + table[2]);
  free(heap);
  return 0;
}
