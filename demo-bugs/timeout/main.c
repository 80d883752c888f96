// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// timeout [REQUESTS]: sends requests; some get their reply in time, some late. In the end no slot may be
// missing.
#include "requests.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned state = 1;

static unsigned draw(unsigned below) {
  state = state * 1103515245u + 12345u;
  return (state >> 16) % below;
}

// What the server does in the meantime.
static unsigned work(unsigned rounds) {
  unsigned sum = 0;
  for (unsigned i = 0; i < rounds; i++)
    sum = sum * 31 + i;
  return sum;
}

int main(int argc, char** argv) {
  long count = argc > 1 ? atol(argv[1]) : 20000;
  unsigned sum = 0;
  pool_start();
  requests_start();
  for (long sent = 0; sent < count;) {
    if (request_send(1 + (long)draw(3))) sent++;
    sum += work(draw(200));
    request_reply(pool_slot((int)draw(kSlots)));
  }
  requests_stop();
  for (int i = 0; i < kSlots; i++)
    request_reply(pool_slot(i));
  printf("%ld answered, %ld expired, %d of %d slots free (%u)\n", requests_answered, requests_expired,
         pool_free(), kSlots, sum);
  if (pool_free() != kSlots) abort();
  return 0;
}
