// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer instructions off the beaten track: locked and exchanging forms, 16-byte compare-and-swap, bit
// manipulation, movbe, xlat, high-byte registers, and every operand position of RIP-relative memory
// (immediates behind it too).
#include <stdio.h>
#include <string.h>

#include "hash.h"

static void report(const char* name, uint64_t a, uint64_t b) {
  printf("%-14s %016llx %016llx\n", name, (unsigned long long)a, (unsigned long long)b);
}

static void locked(void) {
  uint64_t memory = 100, value = 7;
  unsigned char carry;
  asm volatile("lock xadd %0, %1" : "+r"(value), "+m"(memory) : : "cc");
  report("xadd", value, memory);
  asm volatile("xchg %0, %1" : "+r"(value), "+m"(memory));
  report("xchg", value, memory);
  asm volatile("lock incq %0; lock subb $3, %0; lock negw %0; lock notq %0" : "+m"(memory) : : "cc");
  report("lock misc", memory, 0);
  asm volatile("lock btcq $5, %1; setc %0" : "=q"(carry), "+m"(memory) : : "cc");
  report("lock btc", carry, memory);
  uint64_t expected = memory, wanted = 1234;
  asm volatile("lock cmpxchg %3, %1; setz %0"
               : "=q"(carry), "+m"(memory), "+a"(expected)
               : "r"(wanted)
               : "cc");
  report("cmpxchg", carry, memory);
  asm volatile("lock cmpxchg %3, %1; setz %0" : "=q"(carry), "+m"(memory), "+a"(value) : "r"(wanted) : "cc");
  report("cmpxchg fails", carry, value);
  static uint64_t pair[2] __attribute__((aligned(16))) = {1, 2};
  for (int i = 0; i < 2; i++) {
    uint64_t low = 1, high = 2;
    asm volatile("lock cmpxchg16b %1; setz %0"
                 : "=q"(carry), "+m"(pair), "+a"(low), "+d"(high)
                 : "b"(5ul), "c"(6ul)
                 : "cc");
    report("cmpxchg16b", low << 8 | carry, high << 16 | pair[0] << 8 | pair[1]);
  }
  uint64_t eight = 0x0000000200000001;
  unsigned low = 1, high = 2;
  asm volatile("cmpxchg8b %1; setz %0"
               : "=q"(carry), "+m"(eight), "+a"(low), "+d"(high)
               : "b"(3), "c"(4)
               : "cc");
  report("cmpxchg8b", carry, eight);
}

static void bits(void) {
  uint64_t a = 0x0f1e2d3c4b5a6978, b = 0x00ff00ff12345678, r, s;
  asm("pext %2, %1, %0" : "=r"(r) : "r"(a), "r"(b));
  asm("pdep %2, %1, %0" : "=r"(s) : "r"(a), "r"(b));
  report("pext pdep", r, s);
  asm("mov %2, %%rdx; mulx %3, %0, %1" : "=r"(r), "=r"(s) : "r"(a), "r"(b) : "rdx");
  report("mulx", r, s);
  asm("rorx $13, %2, %0; shlx %3, %2, %1" : "=&r"(r), "=r"(s) : "r"(a), "r"(b));
  report("rorx shlx", r, s);
  uint64_t memory = a;
  uint16_t small;
  asm("movbe %2, %0; movbe %w0, %1" : "=&r"(r), "=m"(small) : "m"(memory));
  report("movbe", r, small);
  s = b;
  asm("movbe %1, %0" : "=m"(memory) : "r"(s));
  report("movbe store", memory, s);
  // A bit string: the bit offset reaches outside of the operand.
  uint64_t string[4] = {0};
  asm("btsq %1, %0; btsq %2, 16+%0" : "+m"(string) : "r"(200l), "r"(-60l) : "memory", "cc");
  report("bit string", string[3], string[1]);
  asm("bswap %0; bswap %k1" : "+r"(a), "+r"(b));
  report("bswap", a, b);
}

static void bytes(void) {
  uint64_t a = 0x1122334455667788, b = 0xaabbccddeeff0011;
  asm("xchg %%ah, %%bl; add %%bh, %%al; mov %%ah, %%bh; sub $3, %%ah; neg %%bl; rol $3, %%ah"
      : "+a"(a), "+b"(b)
      :
      : "cc");
  report("high bytes", a, b);
  asm("mulb %%bh; divb %%bl" : "+a"(a), "+b"(b) : : "cc");
  report("byte div", a, b);
  unsigned char table[256];
  for (int i = 0; i < 256; i++)
    table[i] = (unsigned char)(255 - i);
  uint64_t index = 0xffffff0000000042;
  asm("xlatb" : "+a"(index) : "b"(table), "m"(table));
  report("xlat", index, 0);
  asm("cbw; cwtl; cltq; cqto; mov %%rdx, %1" : "+a"(index), "=r"(b) : : "rdx");
  report("widen", index, b);
  a = 0x00000000ffffff85;
  asm("movsbq %b1, %0; movzwl %w1, %k1" : "=&r"(b), "+r"(a));
  report("extend", a, b);
  asm("cmp %0, %0; cmovne %k1, %k0" : "+r"(a) : "r"(b) : "cc");
  report("cmov clears", a, b);
  unsigned short div_low = 0xfedc, div_high = 3;
  asm("divw %2" : "+a"(div_low), "+d"(div_high) : "r"((unsigned short)77) : "cc");
  report("word div", div_low, div_high);
}

__attribute__((visibility("hidden"))) uint64_t g_word = 0x1020304050607080;
__attribute__((visibility("hidden"))) uint32_t g_list[4] = {1, 2, 3, 4};
__attribute__((visibility("hidden"))) float g_float[4] = {1.5f, 2.5f, -3.5f, 4.5f};

// rip-relative operands with 0, 1, 2 and 4 bytes of immediate after the displacement, in all maps of opcodes.
static void rip_relative(void) {
  uint64_t r = 0, s = 0;
  asm volatile("mov g_word(%%rip), %0; lea g_word(%%rip), %1; sub %1, %1; adc g_word+4(%%rip), %k1"
               : "=r"(r), "=r"(s)
               :
               : "cc", "memory");
  report("rip load", r, s);
  asm volatile("addb $5, g_word(%%rip); addw $0x1234, g_word+2(%%rip); addl $0x12345678, g_word+4(%%rip)"
               :
               :
               : "cc", "memory");
  asm volatile(
      "addq $-7, g_word(%%rip); shlb $3, g_word+1(%%rip); rolq $9, g_word(%%rip); incw g_word+6(%%rip)"
      :
      :
      : "cc", "memory");
  report("rip immediate", g_word, 0);
  asm volatile("imulq $1000, g_word(%%rip), %0; imull $7, g_word(%%rip), %k1"
               : "=r"(r), "=r"(s)
               :
               : "cc", "memory");
  report("rip imul", r, s);
  asm volatile("cmpb $0x10, g_word(%%rip); sete %b0; testl $0x100, g_word(%%rip); setne %b1"
               : "+r"(r), "+r"(s)
               :
               : "cc", "memory");
  report("rip test", r, s);
  asm volatile(
      "pushq g_word(%%rip); popq g_list(%%rip); movzbl g_list+3(%%rip), %k0; movsbq g_list+7(%%rip), %1"
      : "=r"(r), "=r"(s)
      :
      : "cc", "memory");
  report("rip push pop", r, s);
  asm volatile("lock xadd %0, g_word(%%rip); xchg %1, g_word(%%rip); btsl $3, g_list(%%rip)"
               : "+r"(r), "+r"(s)
               :
               : "cc", "memory");
  report("rip locked", r, s);
  asm volatile(
      "movups g_float(%%rip), %%xmm0; mulps g_float(%%rip), %%xmm0; shufps $0x1b, g_float(%%rip), %%xmm0;"
      "pinsrw $3, g_word(%%rip), %%xmm0; vpermilps $0x4e, g_float(%%rip), %%xmm1; vfmadd213ps "
      "g_float(%%rip), %%xmm0, %%xmm1;"
      "movq %%xmm0, %0; movq %%xmm1, %1; pcmpistri $0x0c, g_list(%%rip), %%xmm0"
      : "=r"(r), "=r"(s)
      :
      : "xmm0", "xmm1", "cc", "rcx", "memory");
  report("rip vector", r, s);
  asm volatile("bextr %1, g_word(%%rip), %0; andn g_word(%%rip), %0, %1; rorx $5, g_word(%%rip), %0"
               : "=&r"(r), "+r"(s)
               :
               : "cc", "memory");
  report("rip bmi", r, s);
  asm volatile("fildll g_word(%%rip); fadds g_float(%%rip); fstps g_float+4(%%rip); fldcw g_control(%%rip); "
               "fnstcw g_list(%%rip)"
               :
               :
               : "memory");
  report("rip x87", g_list[0], (uint64_t)(int64_t)g_float[1]);
  // The 32-bit form gives an address below 4 GiB: reached only by programs that lie there, so only computed
  // here.
  asm volatile("lea g_word(%%eip), %k0; lea g_word(%%rip), %1; sub %k1, %k0; xor %k1, %k1"
               : "=&r"(r), "=&r"(s)
               :
               : "cc");
  report("rip 32", r, s);
  asm volatile(
      "movb %%ah, g_word(%%rip); cmpb %%dh, g_word+1(%%rip); setc %%al; shrdq $4, %%rdx, g_word(%%rip)"
      : "=a"(r)
      : "a"(0x1234), "d"(0x5678l)
      : "cc", "memory");
  report("rip high byte", r, g_word);
}
asm(".data\ng_control: .short 0x037f\n.text");

int main(void) {
  for (int i = 0; i < 2; i++) {
    locked();
    bits();
    bytes();
    rip_relative();
  }
  return 0;
}
