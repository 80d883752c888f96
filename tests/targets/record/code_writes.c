// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that is written while it is in use, by every kind of store: within a page and across two, by
// instructions that lie elsewhere, on the page that they write or on the next one, and by one instruction
// that writes to several pages of code. After each write functions of all pages are called; what they return
// tells whether the new code was executed. The output does not depend on addresses.
//
//   code_writes SEED ROUNDS
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 5, kSize = kPages * kPage, kSlot = 40, kWriters = 1024, kPad = 768 };

// Each copies from (%rsi) to (%rdi). name, text, size (0: %rcx bytes), kind
enum { kAnywhere, kPadOnly, kAvx512 };
#define WRITERS(X)                                                                                           \
  X(mov8, "movb (%rsi),%al; movb %al,(%rdi)", 1, kAnywhere)                                                  \
  X(mov16, "movw (%rsi),%ax; movw %ax,(%rdi)", 2, kAnywhere)                                                 \
  X(mov32, "movl (%rsi),%eax; movl %eax,(%rdi)", 4, kAnywhere)                                               \
  X(mov64, "movq (%rsi),%rax; movq %rax,(%rdi)", 8, kAnywhere)                                               \
  X(movnti, "movq (%rsi),%rax; movnti %rax,(%rdi)", 8, kAnywhere)                                            \
  X(xor64, "movq (%rsi),%rax; xorq (%rdi),%rax; xorq %rax,(%rdi)", 8, kAnywhere)                             \
  X(sse, "movdqu (%rsi),%xmm0; movdqu %xmm0,(%rdi)", 16, kAnywhere)                                          \
  X(avx, "vmovdqu (%rsi),%ymm0; vmovdqu %ymm0,(%rdi); vzeroupper", 32, kAnywhere)                            \
  X(zmm, "vmovdqu64 (%rsi),%zmm0; vmovdqu64 %zmm0,(%rdi); vzeroupper", 64, kAvx512)                          \
  X(movsb, "rep movsb", 0, kAnywhere)                                                                        \
  X(movsq, "mov %rcx,%rdx; shr $3,%rcx; rep movsq; mov %rdx,%rcx; and $7,%rcx; rep movsb", 0, kAnywhere)     \
  X(down, "lea -1(%rsi,%rcx),%rsi; lea -1(%rdi,%rcx),%rdi; std; rep movsb; cld", 0, kAnywhere)               \
  X(single, "movsq", 8, kAnywhere)                                                                           \
  X(pop, "mov %rsp,%r11; mov %rsi,%rsp; popq (%rdi); mov %r11,%rsp", 8, kAnywhere)                           \
  X(push, "mov %rsp,%r11; lea 8(%rdi),%rsp; pushq (%rsi); mov %r11,%rsp", 8, kAnywhere)                      \
  X(cmpxchg, "movq (%rdi),%rax; movq (%rsi),%rcx; cmpxchgq %rcx,(%rdi)", 8, kAnywhere)                       \
  X(fstp, "fldt (%rsi); fstpt (%rdi)", 10, kPadOnly)                                                         \
  X(call, "mov %rsp,%r11; lea 8(%rdi),%rsp; call 1f; 1: mov %r11,%rsp; movq $0,(%rdi)", 8, kPadOnly)         \
  X(stos, "mov $0x90,%al; rep stosb", 0, kPadOnly)                                                           \
  X(fxsave, "add $15,%rdi; and $-16,%rdi; fxsave (%rdi)", 528, kPadOnly)                                     \
  X(enter,                                                                                                   \
    "mov %rsp,%r11; mov %rbp,%r10; mov %rdi,%rbp; lea 80(%rdi),%rsp; enter $0,$9; mov %r10,%rbp;"            \
    "mov %r11,%rsp; mov %rdi,%rax; mov $10,%ecx; 1: movq $1,(%rax); add $8,%rax; loop 1b",                   \
    80, kPadOnly)

#define X(name, text, size, kind)                                                                            \
  asm(".text\nwriter_" #name ": " text "\nret\nwriter_" #name "_end:\n");                                    \
  extern uint8_t writer_##name[], writer_##name##_end[];
WRITERS(X)
#undef X
asm(".text\nscatter: kxnorw %k0,%k0,%k1; vmovdqu64 (%rsi),%zmm0; vmovdqu64 (%rdx),%zmm1;"
    "vpscatterdd %zmm0,(%rdi,%zmm1,1){%k1}; vzeroupper\nret\nscatter_end:\n");
extern uint8_t scatter[], scatter_end[];

typedef void Writer(uint8_t* to, const uint8_t* from, const void* distances, uint64_t size);
typedef uint32_t Function(void);

static const struct Kind {
  const char* name;
  uint8_t *begin, *end;
  int size, kind;
} kKinds[] = {
#define X(name, text, size, kind) {#name, writer_##name, writer_##name##_end, size, kind},
    WRITERS(X)
#undef X
};
enum { kKindsCount = sizeof kKinds / sizeof *kKinds };

static uint8_t* code;
static uint8_t image[kSize + 64]; // what the code is to be
static uint64_t state;

static uint32_t next(uint32_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 20) % below;
}

// Every page begins with copies of the writers, has a pad that is never executed, and then slots of code. The
// last slot of a page may reach into the next page's copies only if it fits, so slots end before.
static int slots_begin(void) {
  return kWriters + kPad;
}

static int slots_in_page(void) {
  return (kPage - slots_begin()) / kSlot;
}

static uint8_t* slot(uint8_t* area, int page, int number) {
  return area + page * kPage + slots_begin() + number * kSlot;
}

// Is this byte the constant of a slot's function?
static int is_constant(int at) {
  int in_page = at % kPage - slots_begin();
  if (in_page < 0 || in_page / kSlot >= slots_in_page()) return 0;
  return in_page % kSlot >= 1 && in_page % kSlot < 5;
}

static void make_image(void) {
  memset(image, 0x90, sizeof image);
  for (int page = 0; page < kPages; ++page) {
    uint8_t* at = image + page * kPage;
    for (int k = 0; k < kKindsCount; ++k) {
      memcpy(at, kKinds[k].begin, (size_t)(kKinds[k].end - kKinds[k].begin));
      at += kKinds[k].end - kKinds[k].begin;
    }
    memcpy(at, scatter, (size_t)(scatter_end - scatter));
    for (int i = 0; i < slots_in_page(); ++i) {
      uint8_t* function = slot(image, page, i);
      function[0] = 0xB8; // mov eax, constant
      memset(function + 1, page * 16 + i, 4);
      function[kSlot - 1] = 0xC3;
    }
  }
}

static uint32_t call_some(void) {
  uint32_t sum = 0;
  for (int i = 0; i < 12; ++i) {
    uint8_t* function = slot(code, (int)next(kPages), (int)next((uint32_t)slots_in_page()));
    sum = sum * 31 + ((Function*)function)();
  }
  return sum;
}

// The writer itself, or its copy on a page of the code.
static uint8_t* place_of(int kind, int page) {
  if (page < 0) return kind < kKindsCount ? kKinds[kind].begin : scatter;
  uint8_t* at = code + page * kPage;
  for (int k = 0; k < kind; ++k)
    at += kKinds[k].end - kKinds[k].begin;
  return at;
}

static void write_once(int has_avx512) {
  int kind = (int)next(kKindsCount + (has_avx512 ? 1 : 0));
  int from_page = (int)next(kPages + 1) - 1;
  Writer* writer = (Writer*)place_of(kind, from_page);
  if (kind == kKindsCount) {
    uint32_t distances[16], values[16];
    for (int i = 0; i < 16; ++i) {
      uint8_t* constant = slot(image, i % kPages, (int)next((uint32_t)slots_in_page())) + 1;
      uint32_t value = next(1 << 30);
      memcpy(constant, &value, 4);
      distances[i] = (uint32_t)(constant - image);
    }
    for (int i = 0; i < 16; ++i)
      memcpy(&values[i], image + distances[i], 4);
    writer(code, (uint8_t*)values, distances, 0);
    return;
  }
  int size = kKinds[kind].size != 0 ? kKinds[kind].size : 1 + (int)next(next(4) == 0 ? 2 * kPage : 300);
  if (kKinds[kind].kind == kAvx512 && !has_avx512) return;
  if (kKinds[kind].kind == kPadOnly) {
    if (size > kPad - 80) size = kPad - 80;
    int at = (int)next(kPages) * kPage + kWriters + (int)next((uint32_t)(kPad - size));
    writer(code + at, image + at, NULL, (uint64_t)size);
    memcpy(image + at, code + at, (size_t)size + 16 < kPad ? (size_t)size : 0);
    return;
  }
  // Half of the writes cross the end of a page.
  int at = next(2) ? (int)(1 + next(kPages - 1)) * kPage - (int)next((uint32_t)size + 1) : (int)next(kSize);
  if (at < 0 || at + size > kSize) return;
  for (int i = at; i < at + size; ++i)
    if (is_constant(i)) image[i] = (uint8_t)next(256);
  writer(code + at, image + at, NULL, (uint64_t)size);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  state = 88172645463325252ull + strtoull(argv[1], NULL, 10) * 0x9E3779B97F4A7C15ull;
  long rounds = atol(argv[2]);
  int has_avx512 = __builtin_cpu_supports("avx512f");
  make_image();
  code = mmap(NULL, kSize, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 3;
  memcpy(code, image, kSize);
  char line[64];
  uint32_t sum = 0;
  for (long i = 0; i < rounds; ++i) {
    sum += call_some();
    write_once(has_avx512);
    sum = sum * 7 + call_some();
    if (i % 8 != 7) continue;
    int size = snprintf(line, sizeof line, "%ld %08x\n", i, sum);
    if (write(1, line, (size_t)size) != size) return 4;
  }
  for (int i = 0; i < kSize; ++i)
    sum = sum * 33 + (i % kPage < kWriters || i % kPage >= slots_begin() ? code[i] : 0);
  printf("%08x\n", sum);
  return 0;
}
