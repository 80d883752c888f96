
#include <stdio.h>
#include <string.h>
static int table[64];
int hash(const char* s) { unsigned h = 5381; while (*s) h = h * 33 + (unsigned char)*s++; return (int)(h % 64); }
struct node { int value; struct node* next; };
int walk(const struct node* n) { int sum = 0; for (; n; n = n->next) sum += n->value * (sum & 3); return sum; }
double poly(const double* c, int n, double x) { double r = 0; for (int i = n; i-- > 0;) r = r * x + c[i]; return r; }
int main(int argc, char** argv) {
  for (int i = 0; i < argc; i++) table[hash(argv[i])]++;
  switch (argc) { case 1: puts("one"); break; case 2: puts("two"); break; case 7: return 3; default: printf("%d\n", argc); }
  char buffer[128]; memset(buffer, 'x', sizeof buffer); buffer[argc] = 0;
  return (int)strlen(buffer) + table[3];
}
