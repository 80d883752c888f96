// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Coroutines: stacks change under the engine's feet, and each context remembers its floating-point control
// words.
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { kWorkers = 8, kStack = 64 * 1024 };

static ucontext_t g_main, g_worker[kWorkers];
static long g_value[kWorkers];
static int g_left = kWorkers;

__attribute__((noinline)) static void yield_at(int id, int depth) {
  char pad[64];
  pad[depth % 64] = (char)depth;
  if (depth > 0) {
    yield_at(id, depth - 1);
    g_value[id] += pad[depth % 64];
    return;
  }
  swapcontext(&g_worker[id], &g_main);
}

static void worker(int id, int rounds) {
  fesetround(id % 2 ? FE_UPWARD : FE_DOWNWARD);
  volatile double one = 1.0, three = 3.0;
  for (int i = 0; i < rounds; i++) {
    yield_at(id, (i * 7 + id) % 20);
    double third = one / three;
    g_value[id] += (third > 0.33333333333333331) + i;
  }
  g_left--;
}

int main(void) {
  for (int i = 0; i < kWorkers; i++) {
    getcontext(&g_worker[i]);
    g_worker[i].uc_stack.ss_sp = malloc(kStack);
    g_worker[i].uc_stack.ss_size = kStack;
    g_worker[i].uc_link = &g_main;
    makecontext(&g_worker[i], (void (*)(void))worker, 2, i, 100 + i);
  }
  int done[kWorkers] = {0};
  for (int turn = 0; g_left > 0; turn++) {
    int i = (turn * 5) % kWorkers;
    if (done[i]) continue;
    int before = g_left;
    swapcontext(&g_main, &g_worker[i]);
    if (g_left < before) done[i] = 1;
  }
  for (int i = 0; i < kWorkers; i++)
    printf("worker %d: %ld\n", i, g_value[i]);
  printf("rounding %d\n", fegetround());
  return 0;
}
