// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LeakSanitizer looks at four threads: one in a condition variable, one in a read, one asleep, one that spins.
// Each has a block whose address stands in its stack alone; the spinning one in a register alone. Only the
// block that nobody has is a leak.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_have_begun;
static int pipe_ends[2];
static atomic_int spins, kept_in_register;

static void* waits(void* unused) {
  char* volatile held = malloc(101);
  held[0] = 1;
  pthread_mutex_lock(&mutex);
  pthread_barrier_wait(&all_have_begun);
  for (;;)
    pthread_cond_wait(&never, &mutex);
  return unused;
}

static void* reads(void* unused) {
  char* volatile held = malloc(102);
  pthread_barrier_wait(&all_have_begun);
  if (read(pipe_ends[0], held, 1) != 0) abort();
  return unused;
}

static void* sleeps(void* unused) {
  char* volatile held = malloc(103);
  held[0] = 1;
  pthread_barrier_wait(&all_have_begun);
  struct timespec long_time = {100000, 0};
  nanosleep(&long_time, NULL);
  return unused;
}

static void* spinning(void* unused) {
  pthread_barrier_wait(&all_have_begun);
  char** slot = malloc(sizeof *slot);
  *slot = malloc(104);
  // The only copies of both addresses go: the block of 104 is held by r12, the slot's own is freed.
  register char* only asm("r12") = *slot;
  memset(slot, 0, sizeof *slot);
  asm volatile("" : "+r"(only));
  free(slot);
  atomic_store(&kept_in_register, 1);
  for (;;) {
    asm volatile("" : "+r"(only));
    atomic_fetch_add(&spins, 1);
  }
  return unused;
}

static void lose(void) {
  void* volatile lost = malloc(777);
  lost = NULL;
}

// What the calls before have left there.
static void overwrite_stack(void) {
  char volatile room[20000];
  for (unsigned i = 0; i < sizeof room; ++i)
    room[i] = 0;
}

int main(void) {
  if (pipe(pipe_ends) != 0) return 99;
  pthread_barrier_init(&all_have_begun, NULL, 5);
  void* (*const functions[])(void*) = {waits, reads, sleeps, spinning};
  for (int i = 0; i < 4; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, functions[i], NULL) != 0) return 98;
    pthread_detach(thread);
  }
  pthread_barrier_wait(&all_have_begun);
  while (!atomic_load(&kept_in_register) || atomic_load(&spins) < 1000)
    ;
  lose();
  overwrite_stack();
  printf("looking\n");
  fflush(stdout);
  return 0;
}
