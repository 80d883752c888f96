// How optimisers take functions apart, for a look at the symbols.
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

static int counter; // line: counter

// Calls of it are put out of the way.
__attribute__((cold, noinline, noreturn)) void fail(int x) {
  fprintf(stderr, "odd %d\n", x);
  abort();
}

// Inlined into both.
static inline __attribute__((always_inline)) int inlined(int x) { return x * 3 + counter; }

// Called with one constant: gcc makes a copy for it.
__attribute__((noinline)) static int specialised(int x, int by) {
  static int uses; // line: specialised.uses
  uses += by;
  return x / by + uses;
}

__attribute__((noinline)) int caller(int x) {
  counter++;
  if (x == 77) fail(counter);
  return inlined(x) + specialised(x, 7) + other_unit(x) + other_unit(x + 1);
}

__attribute__((noinline)) int recursive(int x) { return x <= 1 ? 1 : recursive(x - 1) + recursive(x - 2) + inlined(x); }

__attribute__((noinline)) int loop(int x) {
  do
    x = other_unit(x) - 1;
  while (x > 0);
  return x;
}

// The same code.
__attribute__((noinline)) int same_a(int x) { return x * 12345 + 7; }
__attribute__((noinline)) int same_b(int x) { return x * 12345 + 7; }

int shapes(int x) { return caller(x) + recursive(x) + loop(x) + same_a(x) + same_b(x); }
