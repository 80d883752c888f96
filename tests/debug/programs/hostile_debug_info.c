#include <stdio.h>
int total;
__attribute__((noinline)) void hit(int i) {
  total += i;
}
int main(void) {
  struct { int a; char b[4]; } s = {1, "x"};
  for (int i = 0; i < 3; i++)
    hit(i + s.a);
  *(volatile int *)0 = total;
}
