// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A signal handler begins with fresh x87, MXCSR and vector state; when it returns, the state is that of its
// frame, as the handler has left it there: the old one, a changed one, or, without one, a fresh one.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

struct State {
  uint16_t control, status, tags;
  uint32_t mxcsr;
  uint8_t vectors[4][32];
};

// What the CPU has, by instructions that change nothing.
static __attribute__((target("avx"), noinline)) void take(struct State* state) {
  uint32_t environment[7];
  asm volatile("vmovdqu %%ymm0, %0\n vmovdqu %%ymm1, %1\n vmovdqu %%ymm7, %2\n vmovdqu %%ymm15, %3"
               : "=m"(state->vectors[0]), "=m"(state->vectors[1]), "=m"(state->vectors[2]),
                 "=m"(state->vectors[3]));
  asm volatile("fnstenv %0\n fldenv %0" : "=m"(environment));
  asm volatile("stmxcsr %0" : "=m"(state->mxcsr));
  state->control = (uint16_t)environment[0];
  state->status = (uint16_t)environment[1];
  state->tags = (uint16_t)environment[2];
}

static void show(const char* what, const struct State* state) {
  unsigned sums[4] = {0};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 32; j++)
      sums[i] = sums[i] * 31 + state->vectors[i][j];
  printf("%s: control %x status %x tags %x mxcsr %x vectors %x %x %x %x\n", what, state->control,
         state->status, state->tags, state->mxcsr, sums[0], sums[1], sums[2], sums[3]);
}

static struct State inside[4];
static volatile int depth, change;
static sigjmp_buf out;

enum { kNothing, kMxcsr, kNoState, kJump, kBadMxcsr, kLegacyOnly };

static __attribute__((noinline)) void spoil(void) {
  uint32_t mxcsr = 0x1fc0;
  uint16_t control = 0x7f;
  asm volatile(
      "ldmxcsr %0\n fldcw %1\n fld1\n fld1\n pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm7, %%xmm7" ::"m"(mxcsr),
      "m"(control)
      : "xmm0", "xmm7");
}

static __attribute__((noinline)) void handler(int signal, siginfo_t* info, void* opaque) {
  take(&inside[depth]);
  (void)info;
  ucontext_t* context = opaque;
  spoil();
  if (signal == SIGUSR1 && depth == 0 && change == kNothing) {
    depth = 1;
    raise(SIGUSR2);
    depth = 0;
  }
  switch (change) {
  case kMxcsr:
    context->uc_mcontext.fpregs->mxcsr = 0x3f80;
    break;
  case kNoState:
    context->uc_mcontext.fpregs = NULL;
    break;
  case kBadMxcsr:
    context->uc_mcontext.fpregs->mxcsr = 0xffff1f80;
    break;
  case kLegacyOnly:
    memset((char*)context->uc_mcontext.fpregs + 464, 0, 4);
    break;
  case kJump:
    siglongjmp(out, 1);
  default:
    break;
  }
}

static __attribute__((target("avx"), noinline)) void run(const char* what, int how, int by_fault) {
  static const uint8_t kBytes[32] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                     17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
  struct State after;
  uint16_t control = 0x27f;
  uint32_t mxcsr = 0x1f80 | 0x6000;
  change = how;
  memset(inside, 0, sizeof inside);
  if (sigsetjmp(out, 1) == 0) {
    pid_t self = getpid();
    asm volatile(
        "fninit\n fldcw %0\n fldpi\n fldpi\n fldpi\n ldmxcsr %1\n"
        "vmovdqu %2, %%ymm0\n vmovdqu %2, %%ymm1\n vmovdqu %2, %%ymm7\n vmovdqu %2, %%ymm15" ::"m"(control),
        "m"(mxcsr), "m"(kBytes)
        : "xmm0", "xmm1", "xmm7", "xmm15");
    if (by_fault)
      asm volatile("int3" ::: "memory");
    else
      asm volatile("syscall" ::"a"(62), "D"(self), "S"(SIGUSR1) : "rcx", "r11", "memory");
  }
  take(&after);
  asm volatile("fninit\n vzeroall" ::: "memory");
  mxcsr = 0x1f80;
  asm volatile("ldmxcsr %0" ::"m"(mxcsr));
  printf("%s\n", what);
  show("  in the handler", &inside[0]);
  if (how == kNothing && !by_fault) show("  in the nested one", &inside[1]);
  if (how != kJump) show("  after it", &after); // what a jump leaves of the vectors is the C library's affair
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  if (!__builtin_cpu_supports("avx")) return 0;
  static char stack[262144];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  for (int flags = 0; flags < 2; flags++) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | (flags ? SA_ONSTACK : 0)};
    for (int signal = 1; signal < 32; signal++)
      if (signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGTRAP) sigaction(signal, &action, NULL);
    run("plain", kNothing, 0);
    run("by a fault", kNothing, 1);
    run("changed", kMxcsr, 0);
    run("without state", kNoState, 0);
    run("legacy state only", kLegacyOnly, 0);
    run("left by a jump", kJump, 0);
  }
  pid_t child = fork();
  if (child == 0) {
    run("a state that the CPU refuses", kBadMxcsr, 0);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  printf("a state that the CPU refuses: status %x\n", status);
  return 0;
}
