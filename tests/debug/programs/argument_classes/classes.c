#include <complex.h>
#include <immintrin.h>
#include <rdb/rdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#define KEEP(x) __asm__ volatile("" : : "r"(&(x)) : "memory")
enum colour { RED, GREEN = 7, BLUE };
struct pair { int a, b; };
struct floats { float x, y; };
struct mixed { double d; long n; };
struct big { long v[5]; char name[8]; };
struct bits { unsigned a : 3; int b : 5; unsigned long c : 40; };
struct tail { int n; short items[]; };
union word { float f; unsigned u; unsigned char bytes[4]; };
typedef float vec4 __attribute__((vector_size(16)));
typedef int vec8 __attribute__((vector_size(32)));
static int operations;
__thread int per_thread = 5;
static int twice(int x) { return 2 * x; }

__attribute__((noinline)) static int integers(bool yes, signed char c, unsigned short s, int i, unsigned long l,
    __int128 wide, enum colour e) {
  operations++;
  rdb_begin
    printf("integers %d %d %u %d %lu %ld %ld %d\n", yes, c, s, i, l, (long)(wide >> 64), (long)wide, e);
  rdb_end
  operations++;
  return yes + c + s + i + (int)l + (int)wide + e;
}
__attribute__((noinline)) static double floating(float f, double d, long double x, double _Complex z, float _Complex w) {
  operations++;
  rdb_begin
    printf("floating %g %g %.20Lg %g%+gi %g%+gi\n", f, d, x, creal(z), cimag(z), crealf(w), cimagf(w));
  rdb_end
  operations++;
  return f + d + (double)x + creal(z) + cimagf(w);
}
__attribute__((noinline)) static long structs(struct pair p, struct floats f, struct mixed m, struct big b, struct bits t,
    union word w) {
  operations++;
  rdb_begin
    printf("structs %d %d  %g %g  %g %ld  %ld %ld %s  %u %d %lu  %u %u\n", p.a, p.b, f.x, f.y, m.d, m.n, b.v[0], b.v[4], b.name,
           t.a, t.b, (unsigned long)t.c, w.u, w.bytes[3]);
  rdb_end
  p.a++;
  t.b = -3;
  w.bytes[0] ^= 1;
  b.v[4] += p.a;
  rdb_begin
    printf("changed %d %ld %d %u\n", p.a, b.v[4], t.b, w.u);
  rdb_end
  operations++;
  return p.a + p.b + (long)f.y + m.n + b.v[4] + t.b + (long)w.u;
}
__attribute__((noinline)) static float vectors(vec4 v, vec8 *many, __m128i m) {
  vec8 sum = many[0] + many[1];
  operations++;
  rdb_begin
    long halves[2];
    memcpy(halves, &m, sizeof m);
    printf("vectors %g %g  %d %d  %ld %ld\n", v[0], v[3], sum[0], sum[7], halves[0], halves[1]);
  rdb_end
  operations += sum[3];
  return v[1] + (float)sum[2] + (float)_mm_cvtsi128_si64(m);
}
__attribute__((noinline)) static int arrays(int n, int flat[], int grid[][4], const struct tail *tail, int (*f)(int),
    struct pair (*table)[2]) {
  int local[4] = {n, n + 1, n + 2, n + 3};
  short vla[n][2];
  for (int i = 0; i < n; i++) vla[i][0] = (short)i, vla[i][1] = (short)(i * i);
  KEEP(local);
  rdb_begin
    printf("arrays %d %d  %d  %d %d  %d %d\n", flat[0], grid[n - 1][n], tail->items[tail->n - 1], f(n), (*table)[1].b,
           local[3], (int)(sizeof local / sizeof *local));
    for (int i = 0; i < n; i++) printf(" %d/%d", vla[i][0], vla[i][1]);
    printf("\n");
  rdb_end
  return local[1] + vla[n - 1][1] + flat[0] + grid[0][0] + f(1);
}
__attribute__((noinline)) static int others(const char *text, void *anything, volatile int *port, const int constant,
    _Atomic long *counter) {
  static int visits = 40;
  register int kept = constant * 3;
  const char *copy = text + 1;
  visits++;
  *counter += 2;
  rdb_begin
    printf("others %s %s %d %d %d %ld %d %d %s\n", text, copy, anything == 0, *port, kept, (long)*counter, visits,
        per_thread, __func__);
  rdb_end
  return kept + visits + copy[0];
}
__attribute__((noinline)) static int blocks(int n) {
  int x = n;
  for (int i = 0; i < 2; i++) {
    int x = i * 10;
    {
      struct pair x = {i, n};
      KEEP(x);
      rdb_begin
        printf("inner %d %d of %d\n", x.a, x.b, i);
      rdb_end
      n += x.a;
    }
    KEEP(x);
    rdb_begin
      printf("middle %d\n", x);
    rdb_end
    n += x;
  }
  KEEP(x);
  rdb_begin
    printf("outer %d %d\n", x, n);
  rdb_end
  return n + x;
}
int main(int argc, char **argv) {
  setvbuf(stdout, 0, _IONBF, 0);
  (void)argv;
  int flat[3] = {9, 8, 7}, grid[3][4] = {{1}, {2}, {3, 4, 5, 6}};
  union { struct tail tail; short room[8]; } tail = {{2}};
  tail.tail.items[1] = -12;
  struct pair table[2] = {{1, 2}, {3, 4}};
  vec8 many[2] = {{1, 2, 3, 4, 5, 6, 7, 8}, {argc, argc, argc, argc, argc, argc, argc, argc}};
  volatile int port = 77;
  _Atomic long counter = 1;
  union word w = {.f = 1.5f};
  printf("%d\n", integers(argc == 1, -3, 65000, -argc, 1ul << 40, ((__int128)argc << 64) - 1, BLUE));
  printf("%g\n", floating(0.5f, -1.25, 1.0L / 3 + argc, 2.0 + 3.0 * I, (float)argc - 4.0f * I));
  printf("%ld\n", structs((struct pair){argc, -2}, (struct floats){1.5f, 2.5f}, (struct mixed){0.125, 1l << 50},
                          (struct big){{1, 2, 3, 4, argc}, "big"}, (struct bits){5, -7, 1ul << 39}, w));
  printf("%g\n", vectors((vec4){1, 2, 3, (float)argc}, many, _mm_set_epi64x(argc, -5)));
  printf("%d\n", arrays(3, flat, grid, &tail.tail, twice, &table));
  printf("%d\n", others("text", 0, &port, argc + 4, &counter));
  printf("%d\n", blocks(argc + 1));
  return operations;
}
