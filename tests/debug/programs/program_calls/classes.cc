#include <rdb/rdb.h>
#include <cstdarg>
#include <cstdio>
#include <stdexcept>
struct Big { long v[64]; };
struct alignas(64) Aligned { long v[16]; };
struct Mid { long a; double b; };
struct Small { float x, y, z; };
typedef float Vector __attribute__((vector_size(VECTOR)));
typedef long Callback(Big, double, Vector, long double, Aligned, int);
constexpr int kLast = VECTOR / 4 - 1;
long double extended(long double x, int n) { return x * n; }
_Complex long double complex(_Complex long double x) { return x * 2; }
Big make(int n) { Big b; for (int i = 0; i < 64; i++) b.v[i] = i * n; return b; }
Aligned make_aligned(int n) { Aligned a; for (int i = 0; i < 16; i++) a.v[i] = i * n; return a; }
long take(Big b, Aligned a, int k) { return b.v[63] + b.v[1] + a.v[15] + k + (long)&a % 64; }
Mid mid(Mid m) { m.a++; m.b *= 2; return m; }
Small small(Small s) { s.z += 1; return s; }
__int128 wide(__int128 x) { return x * 3; }
double sum(int n, ...) { va_list l; va_start(l, n); double s = 0; while (n-- > 0) s += va_arg(l, double); va_end(l); return s; }
Vector twice(Vector a) { return a + a; }
Vector filled(float x) { Vector v; for (int i = 0; i <= kLast; i++) v[i] = x + i; return v; }
long call(Callback *f, int n) { return 10 + f(make(n), 2.5, filled(1), 1.5L, make_aligned(n), n); }
int throws(int n) { if (n > 1) throw std::runtime_error("thrown"); return n; }
int catches(int n) { try { return throws(n); } catch (const std::exception &) { return -1; } }
SEE(see)
static void all() {
  CALLS(see)
}
rdb_begin_globals
SEE(again)
rdb_end_globals
int main() {
  int n = 0;
  rdb_begin
    CALLS(again)
  rdb_end
  n++;
  rdb_begin
    try { throws(7); } catch (const std::exception &e) { std::printf("caught %s\n", e.what()); }
  rdb_end
  all();
  return n;
}
