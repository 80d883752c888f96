// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The waiter looks at the flag before it takes the lock. Fails when the signal comes in between: then it
// sleeps until its time is over.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int flag;
static volatile int failed;

static void* waiter(void* arg) {
  if (!flag) {
    pthread_mutex_lock(&lock);
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 1;
    if (pthread_cond_timedwait(&changed, &lock, &limit) == ETIMEDOUT) failed = 1;
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waiter, NULL);
  volatile unsigned long work = 1;
  for (int k = 0; k < 3000; ++k)
    work = work * 6364136223846793005ul + 1;
  pthread_mutex_lock(&lock);
  flag = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  if (failed) printf("missed wake-up\n");
  return failed;
}
