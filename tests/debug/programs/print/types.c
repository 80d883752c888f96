#include <complex.h>
#include <stdio.h>
enum color { RED, GREEN = 5, BLUE };
enum flags { F_A = 1, F_B = 2, F_C = 4 };
struct inner { int a[3]; char name[8]; enum color c; };
struct node {
  int key; struct node *left, *right; struct inner in; unsigned narrow : 3; int wide : 5; enum flags f : 4; double d;
  int (*call)(const char *); union { int i; unsigned char bytes[4]; }; const char *text;
};
static int work(struct node *n, int *p, char *s, void *v) {
  _Atomic int atomic = 7;
  short small = -3; unsigned char byte = 200; _Bool yes = 1; char letter = '\''; long double precise = 1.5L;
  __int128 big = -((__int128)1 << 100);
  double matrix[2][3] = {{1, 2, 3}, {4, 5, 6.5}};
  struct node copy = *n;
  const char *names[] = {"one", "two", 0};
  enum color c = BLUE, odd_color = 77;
  enum flags f = F_A | F_C, odd = 8, none = 0;
  double _Complex z = 1 + 2 * I;
  struct node *bad = (void *)16, *nothing = 0, **to_pointer = &n;
  char *bad_text = (char *)32, line[400] = "";
  int many[40] = {1};
  float third = 1 / 3.0f;
  for (int i = 0; i < 300; i++) line[i] = 'x';
  return *p + copy.key + small;
}
int main(void) {
  struct node n = {3, 0, 0, {{1, 2, 3}, "bob", GREEN}, 5, -2, F_B, 2.5, puts, {258}, "he\"llo\n"};
  int i = 4;
  n.left = &n;
  return work(&n, &i, "tab\t", &n) & 0;
}
