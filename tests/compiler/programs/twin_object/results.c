#include <rdb/rdb.h>
struct two_doubles { double a, b; };
struct mixed { int a; double b; };
struct three_floats { float a, b, c; };
struct twelve { int a, b, c; };
struct big { long v[8]; };
struct holes { char a; int b; };
struct large_float { long double a; };
typedef float four_floats __attribute__((vector_size(16)));
void nothing(void) {}
_Bool truth(int a) { return a > 1; }
signed char small(char a) { return a; }
short shorter(short a, unsigned char b) { return a + b; }
int number(int a, double b, struct big c) { return a + (int)b + (int)c.v[0]; }
long wide(void) { return 1; }
__int128 widest(__int128 a) { return a; }
float single(float a) { return a; }
double twofold(double a) { return a; }
long double extended(long double a) { return a; }
_Complex double pair(_Complex double a) { return a; }
_Complex long double long_pair(void) { return 1; }
struct two_doubles doubles(void) { struct two_doubles r = {1, 2}; return r; }
struct mixed mix(struct mixed m) { return m; }
struct three_floats floats(struct three_floats f) { return f; }
struct twelve ints(struct twelve t) { return t; }
struct holes with_holes(struct holes h) { return h; }
struct large_float in_memory(struct large_float f) { return f; }
struct bits { int a : 3; int : 7; int b : 9; short c; };
struct bits bit_fields(struct bits b) { return b; }
union either { char a; int b; };
union either one_of(union either e) { return e; }
struct tail { long a; char b; };
struct tail with_tail(struct tail t) { return t; }
struct big memory(int a) { struct big b = {{a}}; return b; }
char *pointer(char *a) { return a; }
four_floats vector(four_floats a) { return a; }
int many(int a, int b, int c, int d, int e, int f, int g) { return a + g; }
int late(int a, int b, int c, int d, int e, __int128 f, int g) { return (int)f + g; }
int variadic(const char *f, ...) { return *f; }
__attribute__((ms_abi)) int windows(int a) { return a; }
__attribute__((noreturn)) void never(void) { for (;;) {} }
__attribute__((naked)) void bare(void) { __asm__("ret"); }
int assembly(int a) { __asm__("nop" : "+r"(a)); return a; }
__attribute__((constructor)) void first(void) {}
int main(int argc, char **argv) {
  int a = argc;
  rdb_begin
  (void)a;
  rdb_end
  return a - argc;
}
