// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A threaded interpreter: indirect jumps with many targets from many places, and a switch through a jump
// table.
#include <stdio.h>

enum { kPush, kAdd, kSub, kMul, kDup, kSwap, kDec, kJumpNonZero, kPop, kHalt };

static long interpret(const int* code) {
  static void* const kLabels[] = {&&push, &&add, &&sub, &&mul, &&dup, &&swap, &&dec, &&jump, &&pop, &&halt};
  long stack[32], *sp = stack;
  const int* pc = code;
#define NEXT goto* kLabels[*pc++]
  NEXT;
push:
  *sp++ = *pc++;
  NEXT;
add:
  sp--;
  sp[-1] += sp[0];
  NEXT;
sub:
  sp--;
  sp[-1] -= sp[0];
  NEXT;
mul:
  sp--;
  sp[-1] = sp[-1] * sp[0] % 1000003;
  NEXT;
dup:
  *sp = sp[-1];
  sp++;
  NEXT;
swap: {
  long t = sp[-1];
  sp[-1] = sp[-2];
  sp[-2] = t;
}
  NEXT;
dec:
  sp[-1]--;
  NEXT;
jump:
  if (sp[-1] != 0)
    pc = code + *pc;
  else
    pc++;
  NEXT;
pop:
  sp--;
  NEXT;
halt:
  return sp[-1];
}

__attribute__((noinline)) static int by_switch(int op, int v) {
  switch (op) {
  case 0:
    return v + 1;
  case 1:
    return v * 3;
  case 2:
    return v ^ 0x55;
  case 3:
    return v - 7;
  case 4:
    return v << 1;
  case 5:
    return ~v;
  case 6:
    return v / 3;
  case 7:
    return v % 11;
  case 8:
    return -v;
  default:
    return v;
  }
}

int main(void) {
  // accumulator on the stack below a counter: acc = acc * 3 + counter, counter times
  const int code[] = {kPush, 1,    kPush, 5000, /*4*/ kSwap,  kPush, 3,    kMul, kPush,
                      17,    kAdd, kSwap, kDec, kJumpNonZero, 4,     kPop, kHalt};
  printf("interpret %ld\n", interpret(code));
  int v = 1;
  for (int i = 0; i < 10000; i++)
    v = by_switch((i * 7 + v) & 15, v) & 0xffffff;
  printf("switch %d\n", v);
  return 0;
}
