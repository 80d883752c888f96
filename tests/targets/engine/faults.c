// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Synchronous faults with handlers: each fault happens in the middle of straight code with all registers
// live; the handler prints what the kernel shows (signal, code, address, pc, registers, flags) relative to
// known places, then repairs or skips. Handlers on the alternate stack, nested and repeated faults too.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "hash.h"

static char* g_page; // no access
static const char* g_where;
static int g_skip, g_quiet;
static char* g_stack_low;
static size_t g_stack_size;

static void print_registers(const ucontext_t* context) {
  const greg_t* regs = context->uc_mcontext.gregs;
  static const int kPlain[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_R8, REG_R9,
                               REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  uint64_t hash = HASH_SEED;
  for (size_t i = 0; i < sizeof kPlain / sizeof *kPlain; i++)
    hash = hash_word(hash, (uint64_t)regs[kPlain[i]]);
  const struct _libc_fpstate* fp = context->uc_mcontext.fpregs;
  uint64_t vector = hash_bytes(HASH_SEED, &fp->_xmm[3], 4 * sizeof fp->_xmm[0]);
  // OF DF SF ZF AF PF CF; the resume flag (bit 16) is the processor's own business, set in fault frames.
  printf("  registers %016llx rax %llx r12 %llx xmm3-6 %016llx flags %03llx trap %lld err %lld\n",
         (unsigned long long)hash, (unsigned long long)regs[REG_RAX], (unsigned long long)regs[REG_R12],
         (unsigned long long)vector, (unsigned long long)regs[REG_EFL] & 0xcd5, (long long)regs[REG_TRAPNO],
         (long long)regs[REG_ERR]);
}

static void on_fault(int signal_number, siginfo_t* info, void* context_pointer) {
  ucontext_t* context = context_pointer;
  greg_t* regs = context->uc_mcontext.gregs;
  uintptr_t address = (uintptr_t)info->si_addr, pc = (uintptr_t)regs[REG_RIP];
  char here;
  int on_alternate = &here >= g_stack_low && &here < g_stack_low + g_stack_size;
  printf("  signal %d code %d pc +%ld address ", signal_number, info->si_code,
         (long)(pc - (uintptr_t)g_where));
  if (address - (uintptr_t)g_where < 4096)
    printf("code +%ld", (long)(address - (uintptr_t)g_where));
  else if (g_page != NULL && address - (uintptr_t)g_page < 3 * 4096)
    printf("page +%ld", (long)(address - (uintptr_t)g_page));
  else
    printf("%#lx", (unsigned long)address);
  printf("%s\n", on_alternate ? " on alternate stack" : "");
  if (!g_quiet) print_registers(context);
  regs[REG_RIP] += g_skip;
}

static void install(int signal_number, int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | flags;
  sigaction(signal_number, &action, NULL);
}

// Fills the registers, runs code around one faulting instruction labelled `fault`, hashes what is left. rdi
// is the protected page, rbp and rsp the compiler's.
#define FAULT(name, before, faulting, after)                                                                 \
  extern const char name##_at[], name##_end[];                                                               \
  __attribute__((noinline, noclone)) static uint64_t name(void) {                                            \
    char* page = g_page;                                                                                     \
    uint64_t a, b, c, d;                                                                                     \
    asm volatile(                                                                                            \
        "mov $0x1111, %%eax; mov $0x2222, %%ebx; mov $3, %%ecx; mov $0x44, %%edx; mov %%rdi, %%rsi\n\t"      \
        "xor %%rdi, %%rsi; mov $8, %%r8d; mov $9, %%r9d; mov $10, %%r10d; mov $11, %%r11d\n\t"               \
        "mov $12, %%r12d; mov $13, %%r13d; mov $14, %%r14d; mov $15, %%r15d\n\t"                             \
        "movq %%r12, %%xmm3; movq %%r13, %%xmm4; pshufd $0, %%xmm3, %%xmm5; paddd %%xmm4, %%xmm5\n\t"        \
        "movdqa %%xmm5, %%xmm6\n\t" before "\n"                                                              \
        ".globl " #name "_at, " #name "_end\n" #name "_at: " faulting "\n" #name "_end: " after "\n\t"       \
        "lea (%%r12,%%r13), %%r14; add %%r15, %%rax; add %%r11, %%r14"                                       \
        : "=&a"(a), "=&b"(b), "=&c"(c), "=&d"(d), "+D"(page)                                                 \
        :                                                                                                    \
        : "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm3", "xmm4", "xmm5", "xmm6",       \
          "xmm7", "memory", "cc");                                                                           \
    return hash_word(hash_word(hash_word(hash_word(HASH_SEED, a), b), c), d);                                \
  }

#define ADDS                                                                                                 \
  "add $5, %%rax; sub $77, %%r12; imul $3, %%r13, %%r13; lea 5(%%r10,%%r9), %%r11; xor %%r8, %%r15;"
FAULT(store_fault, ADDS "add $0x7fffffff, %%ecx", "mov %%rax, (%%rdi)", ADDS "sub %%ecx, %%eax")
FAULT(load_fault, ADDS "stc", "mov 8(%%rdi), %%r12", ADDS "adc $0, %%rax")
FAULT(load_dead_flags, ADDS "cmp %%rax, %%r12", "mov 8(%%rdi), %%r12", "xor %%eax, %%eax;" ADDS)
FAULT(modify_fault, ADDS "sub %%eax, %%eax", "addq $3, 16(%%rdi)", ADDS "sete %%al")
FAULT(push_fault, ADDS "movq %%rsp, %%xmm7; lea 64(%%rdi), %%rsp; cmp $1, %%eax", "push %%rax",
      "movq %%xmm7, %%rsp;" ADDS)
FAULT(call_fault, ADDS "movq %%rsp, %%xmm7; lea 64(%%rdi), %%rsp; test %%eax, %%eax", "call 1f",
      "movq %%xmm7, %%rsp; 1: movq %%xmm7, %%rsp;" ADDS)
FAULT(vector_fault, ADDS "dec %%r12d", "vmovdqu (%%rdi), %%ymm7", ADDS "vzeroupper; sets %%al")
FAULT(rep_fault, "mov $100, %%ecx; sub $60, %%rdi; mov $0x55, %%eax; cmp $3, %%r8d", "rep stosb",
      "mov $1, %%edi;" ADDS)
FAULT(wild_fault, ADDS "mov $0x800000000000, %%r9; shl $4, %%r9; or %%r9, %%r9", "mov (%%r9), %%rax", ADDS)
FAULT(null_fault, ADDS "xor %%r9d, %%r9d", "movl $1, 4(%%r9)", ADDS)
FAULT(undefined, ADDS "add $1, %%r12", "ud2", ADDS "setc %%al")
FAULT(bad_opcode, ADDS "inc %%r12", ".byte 0x06", ADDS)
FAULT(privileged, ADDS "neg %%r12", "hlt", ADDS)
FAULT(port, ADDS "or %%r12, %%r12", "in $0x60, %%al", ADDS)
FAULT(divide_zero, ADDS "xor %%ecx, %%ecx", "div %%rcx", ADDS)
FAULT(divide_overflow, ADDS "mov $-1, %%ecx; mov $0x80000000, %%eax; mov %%eax, %%edx; or %%ecx, %%ecx",
      "idiv %%ecx", ADDS)
FAULT(breakpoint, ADDS "cmp %%r12, %%r11", "int3", ADDS "setl %%al")
FAULT(breakpoint_long, ADDS "cmp %%r12, %%r11", ".byte 0xcd, 0x03", ADDS "setl %%al")
FAULT(movaps_unaligned, ADDS "sub $100, %%rdi; cmp $5, %%r12", "movaps 1(%%rdi), %%xmm3",
      "mov $1, %%edi;" ADDS)
FAULT(lock_undefined, ADDS "sub $1, %%r12", ".byte 0xf0, 0x89, 0xc0", ADDS)

static const struct {
  const char* name;
  uint64_t (*run)(void);
  const char *at, *end;
  int trap; // the pc of the frame is already behind the instruction
} kFaults[] = {
#define F(name) {#name, name, name##_at, name##_end, 0}
    F(store_fault),
    F(load_fault),
    F(load_dead_flags),
    F(modify_fault),
    F(push_fault),
    F(call_fault),
    F(vector_fault),
    F(rep_fault),
    F(wild_fault),
    F(null_fault),
    F(undefined),
    F(bad_opcode),
    F(privileged),
    F(port),
    F(divide_zero),
    F(divide_overflow),
    F(movaps_unaligned),
    F(lock_undefined),
    {"breakpoint", breakpoint, breakpoint_at, breakpoint_end, 1},
    {"breakpoint_long", breakpoint_long, breakpoint_long_at, breakpoint_long_end, 1},
};

static void each_fault(const char* title, int interrupts) {
  size_t count = sizeof kFaults / sizeof *kFaults - (interrupts ? 0 : 1);
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < count; i++) {
      printf("%s: %s\n", title, kFaults[i].name);
      g_where = kFaults[i].at;
      g_skip = kFaults[i].trap ? 0 : (int)(kFaults[i].end - kFaults[i].at);
      printf("  result %016llx\n", (unsigned long long)kFaults[i].run());
    }
  }
}

// Faults again inside the handler, three deep, with the same signal and with another one.
static void nested(int signal_number, siginfo_t* info, void* context_pointer) {
  (void)info;
  extern const char nested_at[], nested_end[], divide_at[], divide_end[];
  static int depth = 0;
  greg_t* regs = ((ucontext_t*)context_pointer)->uc_mcontext.gregs;
  printf("%*ssignal %d\n", ++depth * 2, "", signal_number);
  if (depth < 4) {
    asm volatile(".globl nested_at, nested_end\nnested_at: movb $1, (%0)\nnested_end: nop"
                 :
                 : "r"(g_page)
                 : "memory");
  } else if (depth == 4) {
    asm volatile("cltd\n.globl divide_at, divide_end\ndivide_at: idivl %1\ndivide_end: nop"
                 :
                 : "a"(7), "r"(0)
                 : "rdx", "cc");
  }
  printf("%*sback at %d\n", depth * 2, "", depth);
  depth--;
  uintptr_t pc = (uintptr_t)regs[REG_RIP];
  if (pc == (uintptr_t)nested_at)
    regs[REG_RIP] = (greg_t)(uintptr_t)nested_end;
  else if (pc == (uintptr_t)divide_at)
    regs[REG_RIP] = (greg_t)(uintptr_t)divide_end;
  else
    regs[REG_RIP] += g_skip;
}

// The handler repairs the cause instead of skipping: the instruction runs again and succeeds.
static void repair(int signal_number, siginfo_t* info, void* context) {
  (void)signal_number;
  (void)context;
  printf("repair page +%ld\n", (long)((char*)info->si_addr - g_page));
  mprotect(g_page, 4096, PROT_READ | PROT_WRITE);
}

static void bus_error(void) {
  // Without a name: mkstemp draws random numbers, now and then once more, and counts would differ.
  int fd = memfd_create("eng_faults", 0);
  if (ftruncate(fd, 4096) != 0) return;
  char* map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  map[10] = 1;
  g_page = map;
  extern const char bus_at[], bus_end[];
  g_where = bus_at;
  g_skip = (int)(bus_end - bus_at);
  asm volatile(".globl bus_at, bus_end\nbus_at: movb $1, 4096+20(%0)\nbus_end: nop" : : "r"(map) : "memory");
  munmap(map, 8192);
  close(fd);
}

int main(int argc, char** argv) {
  (void)argv;
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  char* pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_page = pages + 4096;
  mprotect(g_page, 4096, PROT_NONE);

  g_stack_size = 64 * 1024;
  g_stack_low = malloc(g_stack_size);
  stack_t alternate = {g_stack_low, 0, g_stack_size};
  sigaltstack(&alternate, NULL);
  static const int kSignals[] = {SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGBUS};
  for (int i = 0; i < 5; i++)
    install(kSignals[i], SA_ONSTACK);
  each_fault("alternate stack", argc > 1);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = nested;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGFPE, &action, NULL);
  g_skip = (int)(load_fault_end - load_fault_at);
  printf("nested\n  result %016llx\n", (unsigned long long)load_fault());

  action.sa_sigaction = repair;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND;
  sigaction(SIGSEGV, &action, NULL);
  g_page[7] = 5;
  printf("repaired %d\n", g_page[7]);
  struct sigaction now;
  sigaction(SIGSEGV, NULL, &now);
  printf("reset %d\n", now.sa_handler == SIG_DFL);

  install(SIGBUS, 0);
  g_quiet = 1; // its registers are the compiler's
  bus_error();
  stack_t state;
  sigaltstack(NULL, &state);
  printf("alternate stack flags %d\n", state.ss_flags);
  return 0;
}
