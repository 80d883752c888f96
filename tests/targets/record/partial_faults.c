// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes every instruction that consists of several accesses fault at each of them, and shows the state that a
// signal handler finds: how far the registers say the instruction came, what it has written, and the vector
// registers. After every second fault the handler makes the page accessible and lets the instruction go on.
//
// Standard output has what the architecture fixes: it is the same natively, recorded and replayed. Standard
// error has hashes of everything that the handler can see; they are compared between a recording and its
// replays only.
//
//   partial_faults string|element|store|load [N]     N: the case at which the program dies of the fault
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 8 };

// What the instruction under test finds in its registers.
struct Setup {
  uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp;
  uint64_t down; // the direction flag
};

// clang-format off
#define STRINGS(X)                                                                                 \
  X(movsb, 1) X(movsw, 2) X(movsl, 4) X(movsq, 8) X(stosb, 1) X(stosw, 2) X(stosl, 4) X(stosq, 8)  \
  X(lodsb, 1) X(lodsw, 2) X(lodsl, 4) X(lodsq, 8)
#define COMPARISONS(X)                                                                             \
  X(cmpsb, 1) X(cmpsw, 2) X(cmpsl, 4) X(cmpsq, 8) X(scasb, 1) X(scasw, 2) X(scasl, 4) X(scasq, 8)

// The memory operand is at (%rsi), or at (%rsi) and a vector of distances in register 1.
#define AVX2_GATHERS(X)                                                  \
  X(vgatherdps, "ymm", "ymm", 4, 4) X(vpgatherdd, "ymm", "ymm", 4, 4)    \
  X(vgatherdpd, "ymm", "xmm", 4, 8) X(vpgatherdq, "ymm", "xmm", 4, 8)    \
  X(vgatherqps, "xmm", "ymm", 8, 4) X(vpgatherqd, "xmm", "ymm", 8, 4)    \
  X(vgatherqpd, "ymm", "ymm", 8, 8) X(vpgatherqq, "ymm", "ymm", 8, 8)
#define AVX512_ELEMENTS(X)                                                                         \
  X(vgatherdps, vscatterdps, "zmm", "zmm", 4, 4) X(vpgatherdd, vpscatterdd, "zmm", "zmm", 4, 4)    \
  X(vgatherdpd, vscatterdpd, "zmm", "ymm", 4, 8) X(vpgatherdq, vpscatterdq, "zmm", "ymm", 4, 8)    \
  X(vgatherqps, vscatterqps, "ymm", "zmm", 8, 4) X(vpgatherqd, vpscatterqd, "ymm", "zmm", 8, 4)    \
  X(vgatherqpd, vscatterqpd, "zmm", "zmm", 8, 8) X(vpgatherqq, vpscatterqq, "zmm", "zmm", 8, 8)
// clang-format on

// name, instruction, size, alignment, needs AVX-512
#define STORES(X)                                                                                            \
  X(mov16, "movw %ax,(%rsi)", 2, 1, 0)                                                                       \
  X(mov32, "movl %eax,(%rsi)", 4, 1, 0)                                                                      \
  X(mov64, "movq %rax,(%rsi)", 8, 1, 0)                                                                      \
  X(add64, "addq %rax,(%rsi)", 8, 1, 0)                                                                      \
  X(not32, "notl (%rsi)", 4, 1, 0)                                                                           \
  X(movdqu, "movdqu %xmm3,(%rsi)", 16, 1, 0)                                                                 \
  X(vmovdqu, "vmovdqu %ymm3,(%rsi)", 32, 1, 0)                                                               \
  X(vmovdqu64, "vmovdqu64 %zmm3,(%rsi)", 64, 1, 1)                                                           \
  X(masked64, "vmovdqu64 %zmm3,(%rsi){%k2}", 64, 1, 1)                                                       \
  X(compress, "vpcompressd %zmm3,(%rsi){%k2}", 64, 1, 1)                                                     \
  X(vmaskmov, "vpmaskmovd %ymm3,%ymm2,(%rsi)", 32, 1, 0)                                                     \
  X(maskmovdqu, "xchg %rsi,%rdi; maskmovdqu %xmm2,%xmm3; xchg %rsi,%rdi", 16, 1, 0)                          \
  X(stmxcsr, "stmxcsr (%rsi)", 4, 1, 0)                                                                      \
  X(fstp80, "fld %st(0); fstpt (%rsi)", 10, 1, 0)                                                            \
  X(fbstp, "fld %st(0); fbstp (%rsi)", 10, 1, 0)                                                             \
  X(fst64, "fstl (%rsi)", 8, 1, 0)                                                                           \
  X(cmpxchg8b, "cmpxchg8b (%rsi)", 8, 1, 0)                                                                  \
  X(cmpxchg16b, "cmpxchg16b (%rsi)", 16, 16, 0)                                                              \
  X(bts, "btsq %rax,(%rsi)", 8, 1, 0)                                                                        \
  X(push, "mov %rsp,%r12; lea 8(%rsi),%rsp; push %rax; mov %r12,%rsp", 8, 1, 0)                              \
  X(call, "mov %rsp,%r12; lea 8(%rsi),%rsp; call 1f; 1: mov %r12,%rsp", 8, 1, 0)                             \
  X(pop, "mov %rsp,%r12; lea 64(%rdi),%rsp; popq (%rsi); mov %r12,%rsp", 8, 1, 0)                            \
  X(enter0, "mov %rsp,%r12; lea 8(%rsi),%rsp; enter $0,$0; mov %r12,%rsp", 8, 8, 0)                          \
  X(enter9, "mov %rsp,%r12; lea 80(%rsi),%rsp; enter $0,$9; mov %r12,%rsp", 80, 8, 0)                        \
  X(fnstenv, "fnstenv (%rsi)", 28, 1, 0)                                                                     \
  X(fnsave, "fnsave (%rsi)", 108, 1, 0)                                                                      \
  X(fxsave, "fxsave (%rsi)", 512, 16, 0)                                                                     \
  X(fxsave64, "fxsave64 (%rsi)", 512, 16, 0)                                                                 \
  X(xsave, "xsave (%rsi)", 2816, 64, 0)                                                                      \
  X(xsave64, "xsave64 (%rsi)", 2816, 64, 0)                                                                  \
  X(xsavec, "xsavec (%rsi)", 2816, 64, 0)                                                                    \
  X(xsaveopt, "xsaveopt (%rsi)", 2816, 64, 0)
// These load what the instruction named beside them has stored.
#define LOADS(X)                                                                                             \
  X(fldenv, "fldenv (%rsi)", fnstenv, 28, 1)                                                                 \
  X(frstor, "frstor (%rsi)", fnsave, 108, 1)                                                                 \
  X(fxrstor, "fxrstor (%rsi)", fxsave, 512, 16)                                                              \
  X(xrstor, "xrstor (%rsi)", xsave, 2816, 64)                                                                \
  X(vmovdqu_load, "vmovdqu (%rsi),%ymm4", vmovdqu, 32, 1)                                                    \
  X(fld80, "fldt (%rsi)", fstp80, 10, 1)

#define SNIPPET(name, text)                                                                                  \
  asm(".text\nsnippet_" #name ": " text "\nret\n");                                                          \
  extern void snippet_##name(void);
#define X(name, size)                                                                                        \
  SNIPPET(name, "rep " #name)                                                                                \
  SNIPPET(name##_n, ".byte 0xf2\n" #name)                                                                    \
  SNIPPET(name##_32, ".byte 0xf3, 0x67\n" #name)
STRINGS(X)
#undef X
#define X(name, size)                                                                                        \
  SNIPPET(name, "repe " #name)                                                                               \
  SNIPPET(name##_n, "repne " #name)                                                                          \
  SNIPPET(name##_32, ".byte 0xf3, 0x67\n" #name)
COMPARISONS(X)
#undef X
#define X(name, data, index, distance, element)                                                              \
  SNIPPET(name##_avx2, #name " %" data "2,(%rsi,%" index "1,1),%" data "0")
AVX2_GATHERS(X)
#undef X
#define X(gather, scatter, data, index, distance, element)                                                   \
  SNIPPET(gather##_avx512, "kmovq %k2,%k1; " #gather " (%rsi,%" index "1,1),%" data "0{%k1}")                \
  SNIPPET(scatter##_avx512, "kmovq %k2,%k1; " #scatter " %" data "3,(%rsi,%" index "1,1){%k1}")
AVX512_ELEMENTS(X)
#undef X
#define X(name, text, size, alignment, avx512) SNIPPET(name, text)
STORES(X)
#undef X
#define X(name, text, saver, size, alignment) SNIPPET(name, text)
LOADS(X)
#undef X

// ---- the memory: guard pages apart from each other, all readable and writable between cases

static uint8_t* memory; // kPages pages, below 4 GiB
static uint8_t vectors[8][64] __attribute__((aligned(64)));
static uint64_t mask_register;
static int has_avx512;
static uint64_t random_state = 1;

static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static uint64_t hash(const void* from, size_t size, uint64_t value) {
  const uint8_t* bytes = from;
  for (size_t i = 0; i < size; ++i)
    value = (value ^ bytes[i]) * 1099511628211ull;
  return value;
}

static const uint64_t kSeed = 1469598103934665603ull;

static enum { kVaried, kAllAlike } content_kind;

static void fill_memory(void) {
  for (int i = 0; i < kPages * kPage; ++i)
    memory[i] = content_kind == kAllAlike ? 0x88 : (uint8_t)(i * 7 + (i >> 12) * 13);
}

// ---- one case

static sigjmp_buf back;
static int bad_page; // the page that faults
static int goes_on;  // the handler repairs it
static int faults;   // of this case
static long all_faults;
static void (*image_maker)(void); // stores what the instruction loads
static int exact;                 // what the case leaves is fixed by the architecture
static long die_at = -1, number;
static char line[160];

static void say(int fd, const char* text) {
  size_t size = strlen(text);
  if (write(fd, text, size) != (ssize_t)size) _exit(99);
}

static uint64_t relative(uint64_t address) {
  uint64_t distance = address - (uint64_t)memory;
  return distance < kPages * kPage + kPage ? distance : 0;
}

static void on_fault(int signal, siginfo_t* info, void* context) {
  greg_t* gregs = ((ucontext_t*)context)->uc_mcontext.gregs;
  const uint8_t* fpregs = (const uint8_t*)((ucontext_t*)context)->uc_mcontext.fpregs;
  uint32_t vector_size;
  memcpy(&vector_size, fpregs + 480, 4);
  ++faults;
  ++all_faults;
  mprotect(memory + bad_page * kPage, kPage, PROT_READ | PROT_WRITE);
  uint64_t content = hash(memory, kPages * kPage, kSeed);
  uint64_t low = hash(fpregs + 160, 64, kSeed); // the rest is what the C library left there
  // Arithmetic flags and the direction.
  uint64_t flags = (uint64_t)gregs[REG_EFL] & 0xCD5;
  if (exact) {
    snprintf(line, sizeof line, " %d %llx:%lld,%llx,%llx,%llx,%llx", signal,
             (unsigned long long)relative((uint64_t)info->si_addr), (long long)gregs[REG_RCX],
             (unsigned long long)relative((uint64_t)gregs[REG_RSI]),
             (unsigned long long)relative((uint64_t)gregs[REG_RDI]), (unsigned long long)flags,
             (unsigned long long)(content ^ low));
    say(1, line);
  }
  uint64_t all = hash(gregs, sizeof(gregset_t), kSeed);
  all = hash(fpregs, 464, all);
  all = hash(fpregs + 512, vector_size - 512, all);
  snprintf(line, sizeof line, "%ld %llx %llx\n", number, (unsigned long long)all,
           (unsigned long long)content);
  say(2, line);
  if (!goes_on || faults > 1) siglongjmp(back, 1);
}

static void run(void (*code)(void), const struct Setup* setup) {
  static uint64_t host_stack;
  if (has_avx512)
    asm volatile("vmovdqu64 (%0),%%zmm0; vmovdqu64 64(%0),%%zmm1; vmovdqu64 128(%0),%%zmm2;"
                 "vmovdqu64 192(%0),%%zmm3; kmovq (%1),%%k2" ::"r"(vectors),
                 "r"(&mask_register)
                 : "memory");
  else
    asm volatile("vmovdqu (%0),%%ymm0; vmovdqu 64(%0),%%ymm1; vmovdqu 128(%0),%%ymm2;"
                 "vmovdqu 192(%0),%%ymm3" ::"r"(vectors)
                 : "memory");
  asm volatile("fninit; fldpi; fldl2e; fldlg2\n"
               "push %%rbp\n push %%rbx\n mov %%rsp,%2\n"
               "mov %1,%%r13\n mov %0,%%r14\n"
               "mov 0(%%r13),%%rax\n mov 8(%%r13),%%rbx\n mov 16(%%r13),%%rcx\n mov 24(%%r13),%%rdx\n"
               "mov 32(%%r13),%%rsi\n mov 40(%%r13),%%rdi\n mov 48(%%r13),%%rbp\n"
               "cmpq $0,56(%%r13)\n je 1f\n std\n"
               "1: call *%%r14\n cld\n"
               "mov %2,%%rsp\n pop %%rbx\n pop %%rbp\n fninit\n"
               :
               : "r"(code), "r"(setup), "m"(host_stack)
               : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                 "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4");
}

static void try(const char* name, void (*code)(void), struct Setup setup, int page, int protection) {
  ++number;
  if (die_at >= 0 && number != die_at) return;
  fill_memory();
  if (image_maker != NULL) {
    memset((void*)setup.rsi, 0, 2816);
    run(image_maker, &setup);
  }
  bad_page = page;
  goes_on = number & 1;
  faults = 0;
  if (exact) {
    snprintf(line, sizeof line, "%ld %s", number, name);
    say(1, line);
  }
  if (number == die_at) {
    signal(SIGSEGV, SIG_DFL);
    mprotect(memory + page * kPage, kPage, protection);
    run(code, &setup);
    _exit(98); // it did not fault
  }
  if (!sigsetjmp(back, 1)) {
    mprotect(memory + page * kPage, kPage, protection);
    run(code, &setup);
  }
  asm volatile("cld; fninit");
  mprotect(memory + page * kPage, kPage, PROT_READ | PROT_WRITE);
  uint64_t content = hash(memory, kPages * kPage, kSeed);
  if (exact) {
    snprintf(line, sizeof line, " %d %llx\n", faults, (unsigned long long)content);
    say(1, line);
  }
  snprintf(line, sizeof line, "%ld %d %llx\n", number, faults, (unsigned long long)content);
  say(2, line);
}

// ---- string instructions: `before` elements are done, then one lies (in part) on the bad page

static const int kCounts[] = {0, 1, 2, 3, 5, 8, 15, 16, 31, 33, 64, 100, 255, 511};
enum { kCountsUsed = sizeof kCounts / sizeof *kCounts };

static void string_case(const char* name, void (*code)(void), int size, int before, int down, int on_source,
                        int split, int overlap) {
  struct Setup setup = {0};
  setup.rax = 0x1122334455667788ull;
  setup.rcx = (uint64_t)before + 3;
  setup.down = (uint64_t)down;
  // Pages 2 and 5 are the ones that may be bad; the other pointer stays within pages 0 and 1, or 6 and 7.
  content_kind = strstr(name, "cmps") || strstr(name, "scas") ? kAllAlike : kVaried;
  if (strstr(name, "_n")) content_kind = kVaried;
  if (content_kind == kAllAlike) setup.rax = 0x8888888888888888ull;
  int page = on_source ? 2 : 5;
  uint8_t* edge = down ? memory + (page + 1) * kPage + (before - 1) * size + split
                       : memory + page * kPage - before * size - split;
  uint8_t* other = on_source ? (down ? memory + 8 * kPage - size : memory + 3 * kPage)
                             : (down ? memory + 2 * kPage - size : memory);
  if (overlap) other = down ? edge + overlap * size : edge - overlap * size;
  setup.rsi = (uint64_t)(on_source ? edge : other);
  setup.rdi = (uint64_t)(on_source ? other : edge);
  try(name, code, setup, page, (before & 1) && !on_source ? PROT_READ : PROT_NONE);
}

static void all_strings(void) {
  exact = 1;
#define FORM(form, size)                                                                                     \
  for (int i = 0; i < kCountsUsed; ++i)                                                                      \
    for (int down = 0; down < 2; ++down)                                                                     \
      for (int side = 0; side < 2; ++side) {                                                                 \
        int source_only = strncmp(#form, "lods", 4) == 0;                                                    \
        int destination_only = strncmp(#form, "stos", 4) == 0 || strncmp(#form, "scas", 4) == 0;             \
        if ((side && destination_only) || (!side && source_only)) continue;                                  \
        string_case(#form, snippet_##form, size, kCounts[i], down, side, 0, 0);                              \
        if (size > 1) string_case(#form, snippet_##form, size, kCounts[i], down, side, size / 2, 0);         \
        if (!source_only && !destination_only)                                                               \
          string_case(#form, snippet_##form, size, kCounts[i], down, side, 0, 1 + kCounts[i] % 5);           \
      }
#define X(name, size) FORM(name, size) FORM(name##_n, size) FORM(name##_32, size)
  STRINGS(X)
  COMPARISONS(X)
#undef X
}

// ---- gathers and scatters: element `bad` lies on the bad page

static void element_case(const char* name, void (*code)(void), int distance, int element, int count,
                         int bad) {
  struct Setup setup = {0};
  setup.rsi = (uint64_t)memory;
  uint64_t chosen = next_random() | 1ull << bad;
  mask_register = chosen;
  memset(vectors[2], 0, sizeof vectors[2]);
  for (int i = 0; i < count; ++i) {
    uint64_t place = next_random() % (2 * kPage - 8);
    if (i == bad) place = 2 * kPage + next_random() % (kPage - 8);
    if (i > bad && next_random() % 4 == 0) place = 2 * kPage + next_random() % (kPage - 8);
    memcpy(vectors[1] + i * distance, &place, (size_t)distance);
    if (chosen >> i & 1) vectors[2][(i + 1) * element - 1] = 0x80;
  }
  // Which elements after the faulting one are done is up to the CPU.
  exact = 0;
  try(name, code, setup, 2, PROT_NONE);
}

static void all_elements(void) {
#define X(name, data, index, distance, element)                                                              \
  for (int bad = 0; bad < (data[0] == 'x' ? 16 : 32) / (distance > element ? distance : element); ++bad)     \
    for (int i = 0; i < 3; ++i)                                                                              \
      element_case(#name, snippet_##name##_avx2, distance, element,                                          \
                   32 / (distance > element ? distance : element), bad);
  AVX2_GATHERS(X)
#undef X
  if (!has_avx512) return;
#define X(gather, scatter, data, index, distance, element)                                                   \
  for (int bad = 0; bad < 64 / (distance > element ? distance : element); ++bad)                             \
    for (int i = 0; i < 3; ++i) {                                                                            \
      int count = 64 / (distance > element ? distance : element);                                            \
      element_case(#gather, snippet_##gather##_avx512, distance, element, count, bad);                       \
      element_case(#scatter, snippet_##scatter##_avx512, distance, element, count, bad);                     \
    }
  AVX512_ELEMENTS(X)
#undef X
}

// ---- stores and loads that cross into a bad page, or out of one

static void crossing(const char* name, void (*code)(void), int size, int alignment) {
  exact = 0;
  for (int inside = alignment; inside < size; inside += alignment)
    for (int second = 0; second < 2; ++second)
      for (int protection = 0; protection < 2; ++protection) {
        struct Setup setup = {0};
        setup.rax = setup.rdx = ~0ull;
        setup.rbx = 0x55;
        setup.rcx = 0x66;
        setup.rdi = (uint64_t)memory;
        setup.rbp = (uint64_t)memory + 512;
        // The store begins `inside` bytes before a page's end: the page after it is bad, or the one that it
        // ends.
        setup.rsi = (uint64_t)memory + 4 * kPage - (uint64_t)inside;
        if (strcmp(name, "bts") == 0) setup.rax = next_random() % 64;
        try(name, code, setup, second ? 4 : 3, protection ? PROT_READ : PROT_NONE);
      }
}

static void all_stores(void) {
  mask_register = 0xF0F0F0F0F0F0F0F1ull;
  memset(vectors[2], 0x80, sizeof vectors[2]);
#define X(name, text, size, alignment, avx512)                                                               \
  if (!avx512 || has_avx512) crossing(#name, snippet_##name, size, alignment);
  STORES(X)
#undef X
}

static void all_loads(void) {
  exact = 0;
#define X(name, text, saver, size, alignment)                                                                \
  for (int inside = alignment; inside < size; inside += alignment)                                           \
    for (int second = 0; second < 2; ++second) {                                                             \
      struct Setup setup = {0};                                                                              \
      setup.rax = setup.rdx = ~0ull;                                                                         \
      setup.rsi = (uint64_t)memory + 4 * kPage - (uint64_t)inside;                                           \
      image_maker = snippet_##saver;                                                                         \
      try(#name, snippet_##name, setup, second ? 4 : 3, PROT_NONE);                                          \
    }
  LOADS(X)
#undef X
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 2) die_at = atol(argv[2]);
  has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  memory = mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (memory == MAP_FAILED) return 3;
  static char alternate[65536];
  stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  for (size_t i = 0; i < sizeof vectors; ++i)
    ((uint8_t*)vectors)[i] = (uint8_t)(i * 11 + 3);
  if (strcmp(argv[1], "string") == 0)
    all_strings();
  else if (strcmp(argv[1], "element") == 0)
    all_elements();
  else if (strcmp(argv[1], "store") == 0)
    all_stores();
  else if (strcmp(argv[1], "load") == 0)
    all_loads();
  else
    return 2;
  snprintf(line, sizeof line, "%ld cases, %ld faults\n", number, all_faults);
  say(1, line);
  return 0;
}
