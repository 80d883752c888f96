// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that ask the machine: cpuid, xgetbv, the xsave family, rdtsc and its kin. Prints what must be
// the same natively and in rdb; of counters and random numbers only that they behave as such.
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned char g_area[4096] __attribute__((aligned(64)));

static uint64_t read_xcr(unsigned index) {
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(index));
  return (uint64_t)high << 32 | low;
}

#define SAVE(instruction)                                                                                    \
  static uint64_t save_##instruction(int use_wide) {                                                         \
    uint64_t bits, ones = 0x0101010101010101;                                                                \
    memset(g_area, 0, sizeof g_area);                                                                        \
    asm volatile("fninit; vzeroall" : : : "xmm0", "xmm1", "xmm2", "xmm15");                                  \
    if (use_wide)                                                                                            \
      asm volatile("vmovq %0, %%xmm2; vinsertf128 $1, %%xmm2, %%ymm2, %%ymm2" : : "r"(ones) : "xmm2");       \
    asm volatile(#instruction " (%0)" : : "r"(g_area), "a"(7), "d"(0) : "memory");                           \
    asm volatile("vzeroall" : : : "xmm0", "xmm1", "xmm2");                                                   \
    memcpy(&bits, g_area + 512, sizeof bits);                                                                \
    return bits;                                                                                             \
  }
SAVE(xsave64)
SAVE(xsavec64)
SAVE(xsaveopt64)

int main(void) {
  unsigned a, b, c, d;
  char vendor[13] = "";
  __cpuid(0, a, b, c, d);
  memcpy(vendor, &b, 4);
  memcpy(vendor + 4, &d, 4);
  memcpy(vendor + 8, &c, 4);
  printf("vendor %s leaves %u\n", vendor, a);
  __cpuid_count(7, 0, a, b, c, d);
  printf("avx2 %d bmi2 %d\n", b >> 5 & 1, b >> 8 & 1);
  __cpuid(1, a, b, c, d);
  printf("sse4.2 %d xsave %d osxsave %d avx %d\n", c >> 20 & 1, c >> 26 & 1, c >> 27 & 1, c >> 28 & 1);
  printf("xcr0 x87 %d sse %d avx %d\n", (int)(read_xcr(0) & 1), (int)(read_xcr(0) >> 1 & 1),
         (int)(read_xcr(0) >> 2 & 1));

  // Which components an xsave writes may depend on history; what it restores must not.
  uint64_t restored[4];
  for (int wide = 0; wide < 2; wide++) {
    uint64_t bits[3] = {save_xsave64(wide), save_xsavec64(wide), save_xsaveopt64(wide)};
    for (int i = 0; i < 3; i++)
      printf("xsave %d wide %d: %s\n", i, wide, wide == 0 || (bits[i] & 4) ? "saved" : "MISSING");
    save_xsave64(wide);
    asm volatile("vpcmpeqd %%ymm2, %%ymm2, %%ymm2; xrstor64 (%1); vmovdqu %%ymm2, %0; vzeroupper"
                 : "=m"(restored)
                 : "r"(g_area), "a"(7), "d"(0)
                 : "memory", "xmm2");
    printf("restored %016llx %016llx %016llx\n", (unsigned long long)restored[0],
           (unsigned long long)restored[1], (unsigned long long)restored[2]);
  }
  unsigned char legacy[512] __attribute__((aligned(16)));
  uint64_t value = 0x1234, back = 0;
  asm volatile("movq %2, %%xmm9; fxsave64 %1; pxor %%xmm9, %%xmm9; fxrstor64 %1; movq %%xmm9, %0"
               : "=r"(back), "=m"(legacy)
               : "r"(value)
               : "xmm9");
  printf("fxsave %llx\n", (unsigned long long)back);

  uint64_t last = 0, increases = 0;
  for (int i = 0; i < 1000; i++) {
    unsigned low, high, processor;
    if (i % 2)
      asm volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(processor));
    else
      asm volatile("rdtsc" : "=a"(low), "=d"(high));
    uint64_t now = (uint64_t)high << 32 | low;
    increases += now > last;
    last = now;
  }
  printf("rdtsc increases %llu\n", (unsigned long long)increases);
  uint64_t random[3] = {0};
  unsigned char ok = 1, carry;
  for (int i = 0; i < 3; i++) {
    for (int tries = 0; tries < 100; tries++) {
      asm volatile("rdrand %0; setc %1" : "=r"(random[i]), "=q"(carry) : : "cc");
      if (carry) break;
    }
    ok &= carry;
  }
  printf("rdrand %d differ %d\n", ok, random[0] != random[1] && random[1] != random[2]);
  uint64_t fs_base, tls;
  asm volatile("rdfsbase %0; mov %%fs:0, %1" : "=r"(fs_base), "=r"(tls));
  printf("fs base %d\n", fs_base == tls);
  asm volatile("lfence; mfence; sfence; pause; clflush (%0); prefetcht0 (%0); prefetchw (%0)"
               :
               : "r"(g_area)
               : "memory");
  asm volatile("endbr64; nopw 0x0(%%rax,%%rax,1); rdsspq %0" : "+r"(back));
  printf("hints %llx\n", (unsigned long long)back);
  return 0;
}
