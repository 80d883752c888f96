#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { char name[8]; struct node *next; };
static struct node *list;
int length(struct node *n) { int k = 0; for (; n; n = n->next) k++; return k; }
rdb_begin_globals
static rdb_id watch;
static int shown;
static void on_next(const struct rdb_event *e) {
  printf("next written by %s, was %d\n", rdb_where(e->pc), *(void *const *)e->old_bytes != 0);
  if (++shown == 2) printf("removed %d, again %d\n", rdb_remove(watch), rdb_remove(watch));
}
static void on_write(const struct rdb_event *e) {
  char text[9] = "";
  rdb_read((const void *)e->arguments[1], text, e->arguments[2] < 8 ? e->arguments[2] : 8);
  printf("write of %ld bytes, %c, with %d in the list, data %s\n", e->result, text[0], length(list), (char *)e->data);
}
static void on_add(const struct rdb_event *e) {
  printf("%s %s\n", e->function, e->kind == RDB_CALL ? (char *)e->arguments[0] : "returns");
}
static void crash(const struct rdb_event *e) { *(volatile int *)8 = 1; }
rdb_end_globals
void add(const char *name) {
  struct node *n = malloc(sizeof *n);
  n->next = list;
  list = n;
  rdb_begin
    if (!watch) watch = rdb_watch(&n->next, sizeof n->next, on_next);
  rdb_end
  strcpy(n->name, name);
}
int main(void) {
  rdb_begin
    rdb_on_syscall("write", on_write, "of mine");
    rdb_on_call("add", on_add, 0);
    rdb_on_return("add", on_add, 0);
    rdb_on_exit(crash, 0);
    if (rdb_on_syscall("wrte", on_write, 0) || rdb_on_write(&watch, 8, on_write, 0)) printf("accepted\n");
  rdb_end
  add("Bartholomew");
  list->next = (struct node *)8;
  list->next = 0;
  puts("x");
  fflush(stdout);
  add("Cleo");
  return length(list);
}
