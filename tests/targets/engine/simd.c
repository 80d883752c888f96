// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vector registers: values must survive every way out of the code cache (calls, returns, indirect jumps,
// system calls, first executions), in full width; and the wide encodings must come through copying unharmed.
#include <immintrin.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hash.h"

#define NOINLINE __attribute__((noinline, noclone))

static const char kText[] =
    "the quick brown fox jumps over the lazy dog, and then some more of the same text follows";

// Fills ymm0-15, leaves the cache in the given way, checks them. The way is a function so that each is cold
// once.
#define LOAD(n) "vmovdqu " #n "*32(%0), %%ymm" #n "\n\t"
#define STORE(n) "vmovdqu %%ymm" #n ", " #n "*32(%1)\n\t"
#define ALL(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define ACROSS(name, code)                                                                                   \
  NOINLINE static void name(const void* in, void* out) {                                                     \
    asm volatile(ALL(LOAD) code ALL(STORE) "vzeroupper"                                                      \
                 :                                                                                           \
                 : "r"(in), "r"(out)                                                                         \
                 : "rax", "rcx", "rdx", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",       \
                   "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",      \
                   "xmm15");                                                                                 \
  }

ACROSS(across_syscall, "mov $39, %%eax\n\tsyscall\n\t")
ACROSS(across_jump, "lea 1f(%%rip), %%rax\n\tjmp *%%rax\n\t.balign 16\n\tud2\n1:\n\t")
ACROSS(across_call, "lea -256(%%rsp), %%rsp\n\tcall 1f\n\tjmp 2f\n1:\tret\n2:\tlea 256(%%rsp), %%rsp\n\t")
ACROSS(across_cpuid, "push %%rbx\n\txor %%eax, %%eax\n\tcpuid\n\tpop %%rbx\n\t")
ACROSS(across_rdtsc, "rdtsc\n\t")
ACROSS(across_loop, "mov $1000, %%ecx\n1:\tdec %%ecx\n\tjnz 1b\n\t")

static uint64_t strings(void) {
  uint64_t hash = HASH_SEED;
  __m128i set = _mm_loadu_si128((const __m128i*)"aeiou,          ");
  for (size_t i = 0; i + 16 < sizeof kText; i++) {
    __m128i v = _mm_loadu_si128((const __m128i*)(kText + i));
    hash = hash_word(hash, (uint64_t)_mm_cmpestri(set, 6, v, 16, 0));
    hash = hash_word(hash, (uint64_t)_mm_cmpistri(v, set, _SIDD_CMP_EQUAL_ANY | _SIDD_MOST_SIGNIFICANT));
    hash = hash_word(hash, (uint64_t)_mm_cmpistrz(v, set, 0));
    hash = hash_word(hash, _mm_crc32_u64(hash, (uint64_t)_mm_extract_epi64(v, 1)));
    __m128i shuffled =
        _mm_shuffle_epi8(v, _mm_set_epi8(0, 3, 1, 7, 9, 4, 2, 15, -1, 6, 5, 12, 13, 8, 10, 11));
    __m128i aes = _mm_aesenc_si128(shuffled, v);
    __m128i product = _mm_clmulepi64_si128(aes, v, 0x11);
    hash = hash_bytes(hash, &product, sizeof product);
  }
  return hash;
}

static uint64_t wide(void) {
  uint64_t hash = HASH_SEED;
  int table[64];
  for (int i = 0; i < 64; i++)
    table[i] = i * i * 31 + 7;
  __m256i index = _mm256_set_epi32(3, 60, 11, 5, 0, 33, 21, 42);
  for (int round = 0; round < 50; round++) {
    __m256i gathered = _mm256_i32gather_epi32(table, index, 4);
    __m256i mask = _mm256_cmpgt_epi32(gathered, _mm256_set1_epi32(20000));
    __m256i partial = _mm256_mask_i32gather_epi32(gathered, table + round % 3, index, mask, 4);
    __m256i permuted = _mm256_permutevar8x32_epi32(partial, index);
    __m256i product = _mm256_mullo_epi32(permuted, gathered);
    __m256i blended = _mm256_blendv_epi8(product, partial, mask);
    index =
        _mm256_and_si256(_mm256_add_epi32(index, _mm256_srlv_epi32(blended, index)), _mm256_set1_epi32(31));
    _mm256_maskstore_epi32(table + 20, mask, blended);
    hash = hash_word(hash, (uint64_t)(unsigned)_mm256_movemask_epi8(mask));
    hash = hash_bytes(hash, &blended, sizeof blended);
  }
  __m256d a = _mm256_set_pd(1.1, -2.2, 3.3, 1e300), b = _mm256_set1_pd(1.0 / 3);
  for (int i = 0; i < 100; i++) {
    a = _mm256_fmadd_pd(a, b, _mm256_set1_pd(0.7));
    a = _mm256_add_pd(a,
                      _mm256_permute4x64_pd(_mm256_sqrt_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), a)), 0x4b));
    __m128i half = _mm256_cvtps_ph(_mm256_castpd_ps(a), 0);
    hash = hash_bytes(hash, &half, sizeof half);
    hash = hash_bytes(hash, &a, sizeof a);
  }
  return hash;
}

static uint64_t rounding(void) {
  uint64_t hash = HASH_SEED;
  unsigned before = _mm_getcsr();
  for (unsigned mode = 0; mode < 4; mode++) {
    for (unsigned flush = 0; flush < 2; flush++) {
      _mm_setcsr(0x1f80 | mode << 13 | (flush ? 0x8040 : 0));
      volatile double x = 1.0, y = 3.0, tiny = 1e-308;
      volatile float f = 2.5f;
      double quotient = x / y, denormal = tiny * tiny + tiny / 16;
      int rounded = _mm_cvtss_si32(_mm_set_ss(f));
      syscall(SYS_getppid);
      hash = hash_bytes(hash, &quotient, sizeof quotient);
      hash = hash_bytes(hash, &denormal, sizeof denormal);
      hash = hash_word(hash, (uint64_t)rounded << 32 | _mm_getcsr());
    }
  }
  _mm_setcsr(before);
  return hash;
}

int main(void) {
  static const struct {
    const char* name;
    void (*run)(const void*, void*);
  } kWays[] = {{"system call", across_syscall}, {"jump", across_jump},   {"call", across_call},
               {"cpuid", across_cpuid},         {"rdtsc", across_rdtsc}, {"loop", across_loop}};
  unsigned char in[512], out[512];
  for (size_t way = 0; way < sizeof kWays / sizeof *kWays; way++) {
    int same = 1;
    for (int round = 0; round < 3; round++) {
      for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(i * 37 + way * 11 + (size_t)round);
      memset(out, 0, sizeof out);
      kWays[way].run(in, out);
      same &= memcmp(in, out, sizeof in) == 0;
    }
    printf("across %s: %s\n", kWays[way].name, same ? "kept" : "LOST");
  }
  printf("strings %016llx\n", (unsigned long long)strings());
  printf("wide %016llx\n", (unsigned long long)wide());
  printf("rounding %016llx\n", (unsigned long long)rounding());
  return 0;
}
