// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Double-checked locking that publishes the object before it is filled in, in the order in which a compiler
// may put it. Fails when someone sees it half made.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct Config {
  int limits[8];
  int checksum;
};

static struct Config storage;
static struct Config* volatile instance;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int failed;

static struct Config* get(void) {
  if (instance == NULL) {
    pthread_mutex_lock(&lock);
    if (instance == NULL) {
      instance = &storage;
      for (int i = 0; i < 8; ++i)
        storage.limits[i] = i * i;
      storage.checksum = 42;
    }
    pthread_mutex_unlock(&lock);
  }
  return instance;
}

static void* body(void* arg) {
  volatile unsigned long work = 1;
  for (int k = 0; k < 400; ++k)
    work = work * 6364136223846793005ul + 1;
  volatile struct Config* config = get();
  if (config->checksum != 42) failed = 1;
  return arg;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, body, NULL);
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
  if (failed) printf("half made\n");
  return failed;
}
