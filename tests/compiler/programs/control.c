// switch, computed goto, setjmp.
#include <rdb/rdb.h>
#include <setjmp.h>
#include <stdio.h>
static jmp_buf env;
static int interpret(const char *code) {
  static const void *table[] = {&&add, &&twice, &&stop};
  int value = 1;
  goto *table[(int)*code];
add:
  value += 3;
  rdb_begin
    printf("add: value=%d\n", value);
  rdb_end
  goto *table[(int)*++code];
twice:
  value *= 2;
  goto *table[(int)*++code];
stop:
  rdb_begin
    printf("stop: value=%d\n", value);
  rdb_end
  return value;
}
static const char *name(int n) {
  switch (n) {
  case 0:
    rdb_begin
      printf("zero\n");
    rdb_end
    return "zero";
  case 1:
  case 2: {
    const char *text = n == 1 ? "one" : "two";
    rdb_begin
      printf("text=%s\n", text);
    rdb_end
    return text;
  }
  default:
    return "many";
  }
}
// A variable whose declaration is never reached, as generated parsers have them.
static int reduce(int rule) {
  switch (rule) {
    int left;
  case 1:
    left = rule + 4;
    rdb_begin
      printf("left=%d\n", left);
    rdb_end
    return left * 2;
  default:
    return rule;
  }
}
int main(void) {
  volatile int tries = 0;
  if (setjmp(env) < 2) {
    tries++;
    rdb_begin
      printf("tries=%d\n", tries);
    rdb_end
    longjmp(env, tries);
  }
  static const char code[] = {0, 1, 0, 2};
  printf("%d %s %s %s %d\n", interpret(code), name(0), name(2), name(7), reduce(1));
  return 0;
}
