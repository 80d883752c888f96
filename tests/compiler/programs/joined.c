// A region between two branches that become one, and one behind a write that is removed together with its block.
#include <rdb/rdb.h>
#include <stdio.h>

struct Pair {
  unsigned a, b;
} one = {1, 0}, other = {9, 8};

static inline unsigned match(unsigned a, unsigned b) {
  one.a = other.a;
  if (other.b != a) return b % 7;
  rdb_begin
    printf("same %u\n", b);
  rdb_end
  if (b & 0xff00) {
    one.b -= one.a;
    other = one;
  }
  return 3;
}

__attribute__((noinline)) void ignore(unsigned a, unsigned b) { match(a, b); }

struct Record {
  unsigned a, b;
  unsigned short c;
  unsigned d, e;
  unsigned char f[6];
  unsigned bits : 5;
} last = {1, 2, 3, 4, 5};
unsigned sum = 9;
unsigned char bytes[16];

__attribute__((noinline)) unsigned choose(struct Record p, struct Record q) {
  for (unsigned k = 0; k < 16; k++) bytes[k] = k;
  switch (q.e & 3) {
  case 0:
    bytes[2] = 43;
    break;
  case 1:
    if (p.a) {
      q.a = last.c;
      for (unsigned k = 0; k < 16; k++) bytes[k] = k;
      rdb_begin
        printf("q %u %u\n", q.a, q.c);
      rdb_end
      last.c = 255;
    } else {
      q.f[3] = 5;
      p.f[0] -= 7u - q.a;
      unsigned t = p.b;
      p.b = last.b;
      last.b = t;
    }
    sum += (q.bits - 2u) % (q.b | 1);
    break;
  case 2:
    last = q;
    break;
  }
  return q.bits + q.b;
}

int main(int argc, char **argv) {
  for (unsigned i = 6; i < 10; i++) {
    printf("i %u\n", i);
    ignore(i, i << 8);
  }
  struct Record m = {(unsigned)argc, 2, 3, 4, 5};
  printf("%u %u\n", other.b, choose(m, m));
  return 0;
}
