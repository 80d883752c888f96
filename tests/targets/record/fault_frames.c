// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Executes pieces of code that fault, and prints all that their signal handler is told: siginfo, registers,
// error code, trap number, the state of x87 and SSE, and what the memory around holds. Everything lies at
// fixed addresses, so that two runs can be compared as text. The pieces are lines of a file:
//
//   NAME CODE [REGISTER=VALUE ...]     all but the name in hex
//
// After CODE stands ud2, which shows what an instruction has done that did not fault. Instead of a
// register there may be `at`, where the code begins (it is put there unless it lies outside of the two pages
// of code), `fcw` and `mxcsr`, and `often=1`: executed many times, so that it becomes a part of a longer
// path.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096ul
#define CODE 0x300000000000ul   // two pages of code, then unmapped; like it, PROT_NONE, and readable
#define DATA 0x310000000000ul   // kinds of memory, each after a page that can be written
#define STACK 0x320000000000ul  // of the code, 16 pages
#define FRAMES 0x330000000000ul // of the handler, 16 pages

enum { KINDS = 5, UNMAPPED = 0, NONE, READ_ONLY, AFTER_FILE, WRITE_ONLY };

// In the order of REG_R8 ... REG_RIP of ucontext.h.
static const char* const kNames[] = {"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rdi",
                                     "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip", "flags"};
enum { REGISTERS = 18 };

uint64_t registers[REGISTERS];
uint64_t saved_rsp;
uint32_t mxcsr;
uint16_t fcw;
extern const char landing[];
void run_code(void);

asm(R"(
    .text
    .globl run_code
run_code:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, saved_rsp(%rip)
    mov $-1, %eax
    mov $-1, %edx
    xrstor initial(%rip)
    fldl two(%rip)
    fld1
    fldcw fcw(%rip)
    movups pattern(%rip), %xmm0
    movups pattern+16(%rip), %xmm1
    movups pattern+32(%rip), %xmm2
    movups pattern+48(%rip), %xmm3
    ldmxcsr mxcsr(%rip)
    pushq registers+136(%rip)
    popfq
    mov registers(%rip), %r8
    mov registers+8(%rip), %r9
    mov registers+16(%rip), %r10
    mov registers+24(%rip), %r11
    mov registers+32(%rip), %r12
    mov registers+40(%rip), %r13
    mov registers+48(%rip), %r14
    mov registers+56(%rip), %r15
    mov registers+64(%rip), %rdi
    mov registers+72(%rip), %rsi
    mov registers+80(%rip), %rbp
    mov registers+88(%rip), %rbx
    mov registers+96(%rip), %rdx
    mov registers+104(%rip), %rax
    mov registers+112(%rip), %rcx
    mov registers+120(%rip), %rsp
    jmp *registers+128(%rip)
    .globl landing
landing:
    cld
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
    .section .rodata
    .balign 16
two:
    .double 2.0
    .double 0.0
pattern:
    .single 1.0, 0.0, -3.0, 1e30
    .single 0.0, 5.0, 1e-40, 1e38
    .quad 0x7ff0000000000001, 0x3ff8000000000000
    .quad 1, -1
    .balign 64
initial:
    .fill 24, 1, 0
    .long 0x1f80
    .fill 548, 1, 0
    .text
)");

static char output[1 << 23];
static size_t length;
static const char* name;

static uint64_t hash(uint64_t seed, const void* data, size_t size) {
  const char* bytes = data;
  for (size_t at = 0; at < size; at += 8) {
    uint64_t word = 0;
    memcpy(&word, bytes + at, size - at < 8 ? size - at : 8);
    seed = (seed ^ word) * 0x100000001b3ul;
    seed ^= seed >> 32;
  }
  return seed;
}

static char* data_page(int kind) {
  return (char*)(DATA + (uint64_t)kind * 16 * PAGE);
}

// What can be read of the memory that the code may write to.
static uint64_t memory_hash(void) {
  uint64_t seed = 1;
  for (int kind = 0; kind < KINDS; kind++)
    seed = hash(seed, data_page(kind), PAGE);
  seed = hash(seed, data_page(READ_ONLY) + PAGE, PAGE);
  return hash(seed, (void*)STACK, 16 * PAGE);
}

// The components beyond SSE, where they are not all zero.
static uint64_t vector_hash(const struct _libc_fpstate* fp) {
  const char* bytes = (const char*)fp;
  uint32_t magic, size;
  memcpy(&magic, bytes + 464, 4);
  memcpy(&size, bytes + 480, 4);
  uint64_t seed = hash(1, fp->_xmm, sizeof fp->_xmm);
  if (magic != 0x46505853) return seed;
  uint64_t used;
  memcpy(&used, bytes + 512, 8);
  seed = hash(seed, &magic, 4);
  for (uint32_t at = 576; at + 8 <= size; at += 8) {
    uint64_t word;
    memcpy(&word, bytes + at, 8);
    if (word != 0) seed = hash(hash(seed, &at, 4), &word, 8);
  }
  return seed;
}

static void handler(int signal, siginfo_t* info, void* context) {
  ucontext_t* user = context;
  greg_t* gregs = user->uc_mcontext.gregs;
  struct _libc_fpstate* fp = user->uc_mcontext.fpregs;
  char* at = output + length;
  int n = sprintf(at, "%s: signal %d code %d errno %d addr %p err %llx trap %lld cr2 %llx segs %llx", name,
                  signal, info->si_code, info->si_errno, info->si_addr, gregs[REG_ERR], gregs[REG_TRAPNO],
                  gregs[REG_CR2], gregs[REG_CSGSFS]);
  for (int i = 0; i < REGISTERS; i++)
    if (i >= 15 || (uint64_t)gregs[i] != registers[i]) n += sprintf(at + n, " %s %llx", kNames[i], gregs[i]);
  n += sprintf(at + n, " x87 %x %x %x %lx mxcsr %x vectors %lx memory %lx info %lx uc %lx %lx %x\n", fp->cwd,
               fp->swd, fp->ftw, hash(1, fp->_st, sizeof fp->_st), fp->mxcsr, vector_hash(fp), memory_hash(),
               hash(1, info, 128), user->uc_flags, *(uint64_t*)&user->uc_sigmask, user->uc_stack.ss_flags);
  length += n;
  fp->cwd = 0x37f;
  fp->swd = 0;
  fp->ftw = 0;
  fp->mxcsr = 0x1f80;
  gregs[REG_RIP] = (greg_t)landing;
  gregs[REG_RSP] = (greg_t)saved_rsp;
  gregs[REG_EFL] = 0x202;
}

static void* map(uint64_t at, size_t size, int protection, int fd) {
  int flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE | (fd < 0 ? MAP_ANONYMOUS : 0);
  void* memory = mmap((void*)at, size, protection, flags, fd, 0);
  if (memory != (void*)at) {
    perror("mmap");
    exit(3);
  }
  return memory;
}

static void make_memory(void) {
  const int after[KINDS] = {-1, PROT_NONE, PROT_READ, 0, PROT_WRITE};
  for (int kind = 0; kind < KINDS; kind++) {
    if (kind == AFTER_FILE) {
      int fd = memfd_create("file", 0);
      if (ftruncate(fd, PAGE) != 0) exit(3);
      map((uint64_t)data_page(kind), 2 * PAGE, PROT_READ | PROT_WRITE, fd);
      close(fd);
      continue;
    }
    map((uint64_t)data_page(kind), PAGE, PROT_READ | PROT_WRITE, -1);
    if (after[kind] >= 0) map((uint64_t)data_page(kind) + PAGE, PAGE, after[kind], -1);
  }
  map(STACK, 16 * PAGE, PROT_READ | PROT_WRITE, -1);
  map(FRAMES, 16 * PAGE, PROT_READ | PROT_WRITE, -1);
  for (int kind = 0; kind < 3; kind++)
    map(CODE + (uint64_t)kind * 16 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, -1);
  map(CODE + 16 * PAGE + 2 * PAGE, PAGE, PROT_NONE, -1);
  map(CODE + 32 * PAGE + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE, -1);
}

// What every piece of code finds.
static void reset(void) {
  for (int kind = 0; kind < KINDS; kind++)
    for (unsigned i = 0; i < PAGE; i++)
      data_page(kind)[i] = (char)((i * 7 + (unsigned)kind) & 0xFA); // popf finds neither TF nor AC
  memset((void*)STACK, 0x22, 16 * PAGE);
  for (uint64_t i = 0; i < REGISTERS; i++)
    registers[i] = 0x1111 * (i + 1);
  registers[10] = STACK + 9 * PAGE;
  registers[15] = STACK + 8 * PAGE;
  registers[16] = CODE;
  registers[17] = 0x202;
  mxcsr = 0x1f80;
  fcw = 0x37f;
}

static int parse(char* line, unsigned char* code, int* often) {
  int size = 0;
  *often = 0;
  name = strtok(line, " \n");
  char* hex = strtok(NULL, " \n");
  for (; hex && hex[2 * size] && strcmp(hex, "-"); size++) {
    char digits[3] = {hex[2 * size], hex[2 * size + 1], 0};
    code[size] = (unsigned char)strtoul(digits, NULL, 16);
  }
  for (char* word; (word = strtok(NULL, " \n"));) {
    char* value = strchr(word, '=');
    *value++ = 0;
    uint64_t number = strtoul(value, NULL, 16);
    if (!strcmp(word, "at")) word = "rip";
    if (!strcmp(word, "fcw")) fcw = (uint16_t)number;
    if (!strcmp(word, "mxcsr")) mxcsr = (uint32_t)number;
    if (!strcmp(word, "often")) *often = 1;
    for (int i = 0; i < REGISTERS; i++)
      if (!strcmp(word, kNames[i])) registers[i] = number;
  }
  return size;
}

static int is_code(uint64_t at) {
  return at >= CODE && at < CODE + 48 * PAGE && (at - CODE) % (16 * PAGE) < 2 * PAGE;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  FILE* file = fopen(argv[1], "r");
  if (!file) return 2;
  make_memory();
  stack_t stack = {.ss_sp = (void*)FRAMES, .ss_size = 16 * PAGE};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
  for (int i = 0; i < 6; i++)
    sigaction(signals[i], &action, NULL);
  char line[1024];
  unsigned char code[32];
  while (fgets(line, sizeof line, file)) {
    reset();
    int often, size = parse(line, code, &often);
    uint64_t at = registers[16];
    for (int i = 0; i < size + 2; i++) {
      static const unsigned char kEnd[] = {0x0f, 0x0b};
      if (is_code(at + (uint64_t)i)) ((unsigned char*)at)[i] = i < size ? code[i] : kEnd[i - size];
    }
    size_t before = length;
    for (int i = 0; i < (often ? 200 : 1); i++) {
      length = before;
      run_code();
    }
    if (length + 4096 > sizeof output) {
      fwrite(output, 1, length, stdout);
      length = 0;
    }
  }
  fwrite(output, 1, length, stdout);
  return 0;
}
