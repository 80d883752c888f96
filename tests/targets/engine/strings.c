// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// String instructions: every size, both directions, zero counts, early ends of the comparing forms, overlaps,
// and the address-size and segment prefixes. Each line hashes buffers, pointers, counts and flags.
#include <stdio.h>
#include <string.h>

#include "hash.h"

struct State {
  uint64_t rcx, rsi, rdi, rax, flags;
};

static unsigned char g_source[1024], g_target[1024], g_source_template[1024], g_target_template[1024];

#define STRING_OP(name, code)                                                                                \
  __attribute__((noinline)) static void name(struct State* s) {                                              \
    uint64_t flags;                                                                                          \
    asm volatile("push %5\n\tpopf\n\t" code "\n\tpushf\n\tpop %4\n\tcld"                                     \
                 : "+c"(s->rcx), "+S"(s->rsi), "+D"(s->rdi), "+a"(s->rax), "=&r"(flags)                      \
                 : "r"(s->flags)                                                                             \
                 : "memory", "cc");                                                                          \
    s->flags = flags;                                                                                        \
  }

STRING_OP(movs1, "rep movsb")
STRING_OP(movs2, "rep movsw")
STRING_OP(movs4, "rep movsl")
STRING_OP(movs8, "rep movsq")
STRING_OP(stos1, "rep stosb")
STRING_OP(stos2, "rep stosw")
STRING_OP(stos4, "rep stosl")
STRING_OP(stos8, "rep stosq")
STRING_OP(lods1, "rep lodsb")
STRING_OP(lods8, "rep lodsq")
STRING_OP(scas1, "repne scasb")
STRING_OP(scas2, "repne scasw")
STRING_OP(scas8, "repe scasq")
STRING_OP(scas1e, "repe scasb")
STRING_OP(cmps1, "repe cmpsb")
STRING_OP(cmps4, "repe cmpsl")
STRING_OP(cmps8, "repne cmpsq")
STRING_OP(single_movs, "movsb; movsw; movsl; movsq")
STRING_OP(single_stos, "stosb; stosw; stosl; stosq")
STRING_OP(single_lods, "lodsb; lodsw; lodsl; lodsq")
STRING_OP(single_cmps, "cmpsb")
STRING_OP(single_scas, "scasl")
STRING_OP(twice, "rep movsb; mov $5, %%ecx; rep stosb; mov $3, %%ecx; repe cmpsb")
STRING_OP(flags_after, "add $1, %%al; rep movsb; setc %%al; adc $0, %%ah")

static const struct {
  const char* name;
  void (*run)(struct State*);
} kOps[] = {{"movsb", movs1},          {"movsw", movs2},          {"movsl", movs4},
            {"movsq", movs8},          {"stosb", stos1},          {"stosw", stos2},
            {"stosl", stos4},          {"stosq", stos8},          {"lodsb", lods1},
            {"lodsq", lods8},          {"scasb", scas1},          {"scasw", scas2},
            {"scasq", scas8},          {"repe scasb", scas1e},    {"cmpsb", cmps1},
            {"cmpsl", cmps4},          {"cmpsq", cmps8},          {"one movs", single_movs},
            {"one stos", single_stos}, {"one lods", single_lods}, {"one cmps", single_cmps},
            {"one scas", single_scas}, {"twice", twice},          {"flags after", flags_after}};

static uint64_t hash_words(uint64_t hash, const void* data, size_t size) {
  uint64_t word;
  for (size_t i = 0; i < size; i += 8) {
    memcpy(&word, (const char*)data + i, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

static uint64_t run(void (*op)(struct State*), uint64_t hash, unsigned count, int down, long shift) {
  memcpy(g_source, g_source_template, sizeof g_source);
  memcpy(g_target, g_target_template, sizeof g_target);
  struct State s = {count, 0, 0, 0x1122334455667788, 0x202 | (down ? 0x400u : 0) | 0x8d1};
  s.rsi = (uint64_t)(g_source + 512);
  s.rdi = (uint64_t)(shift == 0 ? g_target + 512 : g_source + 512 + shift);
  op(&s);
  hash = hash_words(hash, g_source, sizeof g_source);
  hash = hash_words(hash, g_target, sizeof g_target);
  hash = hash_word(hash, s.rcx);
  hash = hash_word(hash, s.rsi - (uint64_t)g_source);
  hash = hash_word(hash, s.rdi - (uint64_t)(shift == 0 ? g_target : g_source));
  hash = hash_word(hash, s.rax);
  return hash_word(hash, s.flags);
}

// A fault in the middle of a rep is not tried here; faults.c does. Here: counts from 0 to a page and more.
static uint64_t large(void) {
  static unsigned char a[9000], b[9000];
  for (size_t i = 0; i < sizeof a; i++)
    a[i] = (unsigned char)(i * i >> 3);
  uint64_t count = sizeof a;
  void *from = a, *to = b;
  asm volatile("rep movsb" : "+c"(count), "+S"(from), "+D"(to) : : "memory");
  return hash_bytes(hash_word(HASH_SEED, count), b, sizeof b);
}

// 32-bit address size: only ecx counts, and the pointers are truncated, so only a zero count is safe with
// pointers above 4 GiB; the upper half of rcx must not matter.
static uint64_t address_size(void) {
  uint64_t count = 0x500000000, from = 0, to = 0;
  asm volatile("addr32 rep movsb" : "+c"(count), "+S"(from), "+D"(to) : : "memory");
  return count << 8 | from << 4 | to;
}

int main(void) {
  static const unsigned kCounts[] = {0, 1, 2, 7, 31, 60};
  static const long kShifts[] = {0, 1, -9};
  for (size_t i = 0; i < sizeof g_source; i++) {
    g_source_template[i] = (unsigned char)(i / 8 * 7);
    g_target_template[i] = (unsigned char)(i < 600 ? i / 8 * 7 : i * 3);
  }
  for (size_t op = 0; op < sizeof kOps / sizeof *kOps; op++) {
    uint64_t hash = HASH_SEED;
    for (size_t c = 0; c < sizeof kCounts / sizeof *kCounts; c++)
      for (size_t s = 0; s < sizeof kShifts / sizeof *kShifts; s++)
        for (int down = 0; down < 2; down++)
          hash = run(kOps[op].run, hash, kCounts[c], down, kShifts[s]);
    printf("%-12s %016llx\n", kOps[op].name, (unsigned long long)hash);
  }
  printf("large        %016llx\n", (unsigned long long)large());
  printf("address size %llx\n", (unsigned long long)address_size());
  return 0;
}
