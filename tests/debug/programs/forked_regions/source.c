// Regions in a parent and its child; with an argument that begins with b the first of them crashes.
#include <rdb/rdb.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
rdb_begin_globals
static int hits;
rdb_end_globals
static int steps;
static void step(const char *who) {
  steps++;
  rdb_begin
    printf("debug: %s, step %d, hit %d\n", who, steps, ++hits);
    fprintf(stderr, "aside: %s\n", who);
    if (steps == 1 && who[0] == 'b') *(volatile int *)0 = 0;
  rdb_end
}
int main(int argc, char **argv) {
  step(argc > 1 ? argv[1] : "parent");
  step("parent");
  pid_t child = fork();
  if (child == 0) {
    step("child");
    write(1, "written\n", 8);
    _exit(3);
  }
  waitpid(child, 0, 0);
  step("parent");
  return 0;
}
