// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The 32 wide registers and the masks of AVX-512: they must survive every way out of the code cache, and the
// encodings (scaled displacements, masks, broadcasts, addresses relative to rip) must come through copying.
// On a CPU without them it prints "none".
#define _GNU_SOURCE
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "hash.h"

#define NOINLINE __attribute__((noinline, noclone))

struct file {
  unsigned char wide[32][64];
  uint64_t masks[8];
};

#define LOAD(n) "vmovdqu64 " #n "*64(%0), %%zmm" #n "\n\t"
#define STORE(n) "vmovdqu64 %%zmm" #n ", " #n "*64(%1)\n\t"
#define LOAD_MASK(n) "kmovq 2048+" #n "*8(%0), %%k" #n "\n\t"
#define STORE_MASK(n) "kmovq %%k" #n ", 2048+" #n "*8(%1)\n\t"
#define EIGHT(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
#define ALL(f)                                                                                               \
  EIGHT(f)                                                                                                   \
  f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15) f(16) f(17) f(18) f(19) f(20) f(21) f(22) f(23) f(24) f(25)  \
      f(26) f(27) f(28) f(29) f(30) f(31)
#define ACROSS(name, code)                                                                                   \
  NOINLINE static void name(const void* in, void* out) {                                                     \
    asm volatile(ALL(LOAD) EIGHT(LOAD_MASK) code ALL(STORE) EIGHT(STORE_MASK) "vzeroupper"                   \
                 :                                                                                           \
                 : "r"(in), "r"(out)                                                                         \
                 : "rax", "rcx", "rdx", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",       \
                   "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",      \
                   "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", \
                   "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4",    \
                   "k5", "k6", "k7");                                                                        \
  }

ACROSS(across_syscall, "mov $39, %%eax\n\tsyscall\n\t")
ACROSS(across_signal, "ud2\n\t")
ACROSS(across_jump, "lea 1f(%%rip), %%rax\n\tjmp *%%rax\n\t.balign 16\n\tud2\n1:\n\t")
ACROSS(across_call, "lea -256(%%rsp), %%rsp\n\tcall 1f\n\tjmp 2f\n1:\tret\n2:\tlea 256(%%rsp), %%rsp\n\t")
ACROSS(across_cpuid, "push %%rbx\n\txor %%eax, %%eax\n\tcpuid\n\tpop %%rbx\n\t")
ACROSS(across_rdtsc, "rdtsc\n\t")
ACROSS(across_loop, "mov $3000, %%ecx\n1:\tdec %%ecx\n\tjnz 1b\n\t")

static void skip(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 2;
  asm volatile("vpxord %%zmm17, %%zmm17, %%zmm17\n\tkxorq %%k3, %%k3, %%k3" : : : "xmm17", "k3");
}

static int table[256];

NOINLINE static uint64_t mixed(void) {
  uint64_t hash = HASH_SEED;
  for (int i = 0; i < 256; i++)
    table[i] = i * 7919;
  unsigned char out[256] = {0};
  for (int i = 0; i < 64; i++) {
    __m512i index = _mm512_and_si512(
        _mm512_mullo_epi32(_mm512_set1_epi32(i + 1),
                           _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)),
        _mm512_set1_epi32(255));
    __mmask16 mask = (__mmask16)(0x9E37 * (unsigned)(i + 1));
    __m512i v = _mm512_mask_i32gather_epi32(_mm512_set1_epi32(-i), mask, index, table, 4);
    v = _mm512_ternarylogic_epi32(v, index, _mm512_rolv_epi32(v, index), 0x96);
    _mm512_mask_compressstoreu_epi32(out + 3, mask, v);
    v = _mm512_mask_expandloadu_epi32(v, (__mmask16)~mask, out + 5);
    _mm512_mask_i32scatter_epi32(table, mask, index, v, 4);
    __mmask64 bytes = _mm512_cmpgt_epu8_mask(v, index);
    hash = hash_word(hash, bytes);
    hash = hash_word(hash, (uint64_t)_mm512_mask_reduce_add_epi32(mask, v));
    v = _mm512_maskz_shuffle_epi8(bytes, v, index);
    __m512d d = _mm512_cvtepi32_pd(_mm512_castsi512_si256(v));
    d = _mm512_add_round_pd(d, _mm512_sqrt_pd(_mm512_abs_pd(d)), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    hash = hash_bytes(hash, &d, sizeof d);
    hash = hash_bytes(hash, &v, sizeof v);
  }
  hash = hash_bytes(hash, table, sizeof table);
  return hash_bytes(hash, out, sizeof out);
}

// Displacements of one byte are scaled by the width of the access; rip-relative ones are not.
NOINLINE static uint64_t operands(void) {
  static unsigned char area[4096] __attribute__((aligned(64)));
  static const uint64_t constant = 0x123456789abcdef0;
  for (size_t i = 0; i < sizeof area; i++)
    area[i] = (unsigned char)(i * 31);
  uint64_t mask = 0x5a5a;
  asm volatile("kmovq %2, %%k1\n\t"
               "vmovdqu64 64(%0), %%zmm16\n\t"
               "vmovdqu64 -128(%0), %%zmm17\n\t"
               "vpaddq 8(%0)%{1to8%}, %%zmm16, %%zmm18\n\t"
               "vpaddq %1%{1to8%}, %%zmm18, %%zmm19%{%%k1%}%{z%}\n\t"
               "vpermq 320(%0), %%zmm19, %%zmm20\n\t"
               "vmovdqu8 %%zmm20, 127(%0)%{%%k1%}\n\t"
               "vmovdqu64 %%ymm17, 512(%0)\n\t"
               "vmovdqu64 %%xmm18, -16(%0)\n\t"
               "vpmovqb %%zmm19, 800(%0)\n\t"
               "vzeroupper"
               :
               : "r"(area + 1024), "m"(constant), "r"(mask)
               : "memory", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "k1");
  return hash_bytes(HASH_SEED, area, sizeof area);
}

int main(void) {
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    puts("none");
    return 0;
  }
  static const struct {
    const char* name;
    void (*function)(const void*, void*);
  } ways[] = {{"syscall", across_syscall}, {"signal", across_signal}, {"jump", across_jump},
              {"call", across_call},       {"cpuid", across_cpuid},   {"rdtsc", across_rdtsc},
              {"loop", across_loop}};
  struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &action, NULL);
  static struct file in, out;
  for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
    int same = 1;
    for (int round = 0; round < 3; round++) {
      for (size_t i = 0; i < sizeof in; i++)
        ((unsigned char*)&in)[i] = (unsigned char)(i * 167 + way * 13 + (size_t)round);
      memset(&out, 0, sizeof out);
      ways[way].function(&in, &out);
      same &= memcmp(&in, &out, sizeof in) == 0;
    }
    printf("%s %s\n", ways[way].name, same ? "kept" : "LOST");
  }
  printf("mixed %016lx\n", (unsigned long)mixed());
  printf("operands %016lx\n", (unsigned long)operands());
  return 0;
}
