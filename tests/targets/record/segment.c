// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A segment of System V shared memory that holds something before it is attached, and that parent and child
// write to in turns.
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRounds = 50, kWords = 3000 };

struct shared {
  sem_t turn[2];
  int sum;
  int words[kWords];
};

static struct shared* attach(int id) {
  struct shared* shared = shmat(id, NULL, 0);
  if (shared == (void*)-1) abort();
  return shared;
}

static void play(struct shared* shared, int self) {
  for (int round = 0; round < kRounds; ++round) {
    sem_wait(&shared->turn[self]);
    shared->sum = shared->sum * 3 + self;
    shared->words[(round * 977 + self) % kWords] += shared->sum;
    sem_post(&shared->turn[1 - self]);
  }
}

int main(void) {
  int id = shmget(IPC_PRIVATE, sizeof(struct shared), 0600);
  struct shared* shared = attach(id);
  strcpy((char*)&shared->words[2000], "from before");
  shmdt(shared);
  shared = attach(id);
  shmctl(id, IPC_RMID, NULL);
  printf("found %s\n", (char*)&shared->words[2000]);
  fflush(stdout);
  sem_init(&shared->turn[0], 1, 1);
  sem_init(&shared->turn[1], 1, 0);
  if (fork() == 0) {
    play(shared, 1);
    shmdt(shared);
    puts("child");
    return 7;
  }
  play(shared, 0);
  wait(NULL);
  unsigned total = 0;
  for (int i = 0; i < kWords; ++i)
    total = total * 31 + (unsigned)shared->words[i];
  printf("sum %d, words %u\n", shared->sum, total);
  return shmdt(shared);
}
