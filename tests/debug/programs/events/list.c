// A list of named values, a wide variable that memset() fills, and a read into a counter.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct node { int value; struct node *next; char name[8]; };
static struct node *head;
static int count;
long long wide[2];
double half(double x, const char *what) { return what[0] == 'h' ? x / 2 : x; }
struct node *push(int value, const char *name) {
  struct node *n = malloc(sizeof *n);
  n->value = value;
  n->next = head;
  strcpy(n->name, name);
  head = n;
  count++;
  return n;
}
int descend(int n) { return n == 0 ? 0 : 1 + descend(n - 1); }
int main(void) {
  push(1, "one");
  push(-2, "two");
  printf("%d %g %d\n", count, half(5, "half"), descend(2));
  fflush(stdout);
  if (read(0, &count, 3) != 3) return 9;
  __builtin_memset(wide, 7, sizeof wide);
  return count == 'a' + ('b' << 8) + ('c' << 16) ? 0 : 8;
}
