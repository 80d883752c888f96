#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node {
  struct node *l, *r;
  int key;
  char name[20];
};
static struct node *root;
static long sum;
static double acc[16];
__attribute__((noinline)) struct node *add(struct node *n, int key) {
  if (!n) {
    n = calloc(1, sizeof *n);
    n->key = key;
    snprintf(n->name, sizeof n->name, "k%d", key);
    return n;
  }
  if (key < n->key)
    n->l = add(n->l, key);
  else if (key > n->key)
    n->r = add(n->r, key);
  return n;
}
__attribute__((noinline)) int depth(struct node *n) {
  if (!n)
    return 0;
  int a = depth(n->l), b = depth(n->r);
  return 1 + (a > b ? a : b);
}
__attribute__((noinline)) static int cmp(const void *a, const void *b) {
  return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) void sorts(int *v, int n) {
  qsort(v, n, sizeof *v, cmp);
}
__attribute__((noinline)) double floats(double *a, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) {
    a[i] = sqrt(a[i] + i);
    s += a[i];
  }
  return s;
}
__attribute__((noinline)) long double longs(long double x) {
  return x * 3 + sum;
}
__attribute__((noinline)) unsigned hash(const char *s) {
  unsigned h = 5381;
  while (*s)
    h = h * 33 ^ (unsigned char)*s++;
  return h;
}
__attribute__((noinline)) int work(int round) {
  static int v[300];
  char text[64];
  int t = 0;
  for (int i = 0; i < 300; i++)
    v[i] = (i * 7919 + round * 31) % 1009;
  sorts(v, 300);
  for (int i = 0; i < 40; i++)
    root = add(root, v[i * 7] ^ round);
  t += depth(root);
  sprintf(text, "round %d %s", round, root->name);
  t += hash(text) & 7;
  acc[round % 16] += floats(acc, 16);
  sum += longs(round) > 5;
  char *p = strdup(text);
  memset(p, 'x', 3);
  t += strlen(p) + p[1];
  free(p);
  return t;
}
__attribute__((noinline)) void show(int i, int t) {
  printf("%d %d %ld\n", i, t, sum);
}
int main(void) {
  for (int i = 0; i < 200; i++) {
    int t = work(i);
    if (i % 20 == 0)
      show(i, t);
  }
  return 0;
}
