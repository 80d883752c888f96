#include <stdio.h>
#include <string.h>
struct point { int x; const char* name; };
static int calls;
static int twice(int n) { calls++; return 2 * n; }
int work(int n) {
  struct point p = {n, "pt"};
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sum += twice(i);
  }
  p.x = sum;
  return p.x + (int)strlen(p.name);
}
int main(void) {
  for (int k = 1; k <= 3; k++) {
    printf("%d\n", work(k));
  }
  return 0;
}
