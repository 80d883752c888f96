// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// x87 state: arithmetic, control and status words, and the last instruction pointer, which the processor
// stores into guest memory by itself (fnstenv, fnsave, fxsave) and which must be the guest's address.
#include <stdio.h>
#include <string.h>

#include "hash.h"

struct Environment {
  unsigned control, status, tag, instruction, selector, operand, operand_selector;
};

extern const char g_last_instruction[], g_faulting_instruction[];
static long double g_operand = 1.5L;
static int g_strict;

__attribute__((noinline)) static void store_environment(struct Environment* env) {
  asm volatile("fninit\n\t"
               "fld1\n\t"
               "fldpi\n\t"
               ".globl g_last_instruction\n"
               "g_last_instruction: fmulp\n\t"
               "nop\n\t"
               "jmp 1f\n"
               "1:\n\t"
               "fnstenv %0\n\t"
               "fninit"
               : "=m"(*env)
               :
               : "memory");
}

// A masked-in exception stays pending: then every x86 stores the pointer with fxsave, AMD's included.
__attribute__((noinline)) static void store_pending(unsigned char* area) {
  unsigned short control = 0x037b; // division by zero unmasked
  asm volatile("fninit\n\t"
               "fldcw %1\n\t"
               "fld1\n\t"
               "fldz\n\t"
               ".globl g_faulting_instruction\n"
               "g_faulting_instruction: fdivrp\n\t"
               "fxsave64 (%0)\n\t"
               "fnclex\n\t"
               "fninit"
               :
               : "r"(area), "m"(control)
               : "memory");
}

static uint64_t arithmetic(void) {
  uint64_t hash = HASH_SEED;
  static const char* const kNames[] = {"round to nearest", "down", "up", "to zero"};
  for (unsigned rounding = 0; rounding < 4; rounding++) {
    unsigned short control = (unsigned short)(0x037f | rounding << 10), status;
    long double results[12];
    memset(results, 0, sizeof results);
    long long integer;
    unsigned char bcd[10];
    asm volatile("fldcw %0" : : "m"(control));
    asm volatile("fldpi; fldl2e; fmulp; fstpt %0" : "=m"(results[0]));
    asm volatile("fldpi; fsin; fstpt %0" : "=m"(results[1]));
    asm volatile("fldln2; fsqrt; fstpt %0" : "=m"(results[2]));
    asm volatile("fldl2t; fld1; fyl2x; fstpt %0" : "=m"(results[3]));
    asm volatile("fldlg2; f2xm1; fstpt %0" : "=m"(results[4]));
    asm volatile("fldpi; frndint; fstpt %0" : "=m"(results[5]));
    asm volatile("fldt %1; fld1; fpatan; fstpt %0" : "=m"(results[6]) : "m"(g_operand));
    asm volatile("fld1; fldpi; fprem; fstp %%st(1); fstpt %0" : "=m"(results[7]));
    asm volatile("fldpi; fxtract; faddp; fstpt %0" : "=m"(results[8]));
    asm volatile("fldpi; fld1; fcomip %%st(1), %%st; fcmovb %%st(0), %%st; fstpt %0"
                 : "=m"(results[9])
                 :
                 : "cc");
    asm volatile("fldpi; fistpll %0" : "=m"(integer));
    asm volatile("fldl2e; fldpi; fmulp; fbstp %0" : "=m"(bcd));
    asm volatile("fldz; fld1; fdivp; fstp %%st(0); fnstsw %%ax; fnclex" : "=a"(status));
    hash = hash_bytes(hash, results, sizeof results);
    hash = hash_word(hash, (uint64_t)integer);
    hash = hash_bytes(hash, bcd, sizeof bcd);
    printf("%s: status %04x hash %016llx\n", kNames[rounding], status, (unsigned long long)hash);
  }
  asm volatile("fninit");
  return hash;
}

// Some processors forget the pointer when the kernel switches tasks, so natively zero is as good as the
// address. With an argument the two are told apart: rdb has to choose one of them, always the same.
static const char* pointer_name(uint64_t pointer, uint64_t exact) {
  if (pointer != 0 && pointer != exact) return "WRONG";
  return !g_strict ? "fine" : pointer == 0 ? "zero" : "exact";
}

int main(int argc, char** argv) {
  (void)argv;
  g_strict = argc > 1;
  arithmetic();

  struct Environment env;
  memset(&env, 0, sizeof env);
  for (int i = 0; i < 3; i++) {
    store_environment(&env);
    printf("fnstenv: control %04x status %04x tag %04x instruction %s\n", env.control & 0xffff,
           env.status & 0xffff, env.tag & 0xffff,
           pointer_name(env.instruction, (unsigned)(uintptr_t)g_last_instruction));
  }
  static unsigned char area[512] __attribute__((aligned(16)));
  store_pending(area);
  uint64_t pointer;
  memcpy(&pointer, area + 8, sizeof pointer);
  printf("fxsave: pointer %s\n", pointer_name(pointer, (uintptr_t)g_faulting_instruction));
  static unsigned char saved[108];
  asm volatile("fld1; fldpi; fnsave %0" : "=m"(saved));
  asm volatile("frstor %0; fstp %%st(0); fstp %%st(0)" : : "m"(saved));
  printf("fnsave registers %016llx\n", (unsigned long long)hash_bytes(HASH_SEED, saved + 28, 20));

  // mmx shares the registers and the tag word.
  uint64_t product = 0;
  asm volatile("movq %1, %%mm3; pmullw %1, %%mm3; paddb %%mm3, %%mm3; movq %%mm3, %0; emms"
               : "=m"(product)
               : "m"(*(const uint64_t*)"\1\2\3\4\5\6\7\10"));
  printf("mmx %016llx\n", (unsigned long long)product);
  long double factorial = 1;
  for (int i = 1; i < 30; i++)
    factorial *= i;
  printf("29! %.0Lf\n", factorial);
  return 0;
}
