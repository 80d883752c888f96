// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backend.h"

#include <stdio.h>

enum { kRoundsAtOnce = 30 };

struct backend {
  char name[16];
  unsigned effort, more;
  struct ticket queue[kQueue];
  unsigned first, waiting;
  unsigned left; // rounds, for the first one
  unsigned result;
};

static struct backend backends[kMaxBackends];
static int count;

unsigned draw(unsigned below) {
  static unsigned state = 1;
  state = state * 1103515245u + 12345u;
  return (state >> 16) % below;
}

bool backends_read(const char* path) {
  FILE* file = fopen(path, "r");
  if (!file) {
    perror(path);
    return false;
  }
  struct backend read = {0};
  while (count < kMaxBackends && fscanf(file, "%15s %u %u", read.name, &read.effort, &read.more) == 3)
    backends[count++] = read;
  bool good = feof(file) && count > 0;
  if (!good) fprintf(stderr, "%s: not a list of backends\n", path);
  fclose(file);
  return good;
}

int backends_count(void) {
  return count;
}

const char* backend_name(int backend) {
  return backends[backend].name;
}

bool backend_has_room(int backend) {
  return backends[backend].waiting < kQueue;
}

static void begin(struct backend* b) {
  b->left = b->effort + draw(b->more + 1);
}

void backend_send(int backend, struct ticket ticket) {
  struct backend* b = &backends[backend];
  b->queue[(b->first + b->waiting) % kQueue] = ticket;
  if (b->waiting++ == 0) begin(b);
}

bool backend_work(int backend, struct ticket* done) {
  struct backend* b = &backends[backend];
  if (b->waiting == 0) return false;
  for (int i = 0; i < kRoundsAtOnce && b->left > 0; i++, b->left--)
    b->result = b->result * 31 + b->left;
  if (b->left > 0) return false;
  *done = b->queue[b->first];
  b->first = (b->first + 1) % kQueue;
  if (--b->waiting > 0) begin(b);
  return true;
}
