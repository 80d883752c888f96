#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
void say(const char *what) { printf("program: %s\n", what); }
void say_at_once(const char *what) {
  printf("program: %s", what);
  fflush(stdout);
  printf(" at once\n");
}
void directly(const char *what) {
  char text[40];
  struct iovec both[2] = {{text, (size_t)snprintf(text, sizeof text, "program: %s", what)}, {(void *)" directly\n", 10}};
  if (writev(1, both, 2) != (ssize_t)(both[0].iov_len + 10) || write(1, what, strlen(what)) != (ssize_t)strlen(what)) _exit(9);
  fputs("to its error stream\n", stderr);
}
void around(void (*f)(void)) {
  printf("program: before\n");
  f();
  printf("program: after\n");
}
rdb_begin_globals
static void inside(void) { printf("inside\n"); }
rdb_end_globals
int main(void) {
  int n = 1;
  rdb_begin
    printf("begin\n");
    say("one");
    printf("between\n");
    say_at_once("two");
    around(inside);
    printf("end\n");
  rdb_end
  printf("first %d\n", n);
  rdb_begin
    printf("begin\n");
    say("three");
    say_at_once("four");
    say("five");
    directly("six\n");
  rdb_end
  printf("second %d\n", n);
  return 0;
}
