// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// timeout BACKENDS REQUESTS: a gateway that sends so many requests to its backends and waits for their
// replies, each only so long. In the end no slot may be missing.
#include "backend.h"
#include "pool.h"
#include "requests.h"
#include "statistics.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: timeout BACKENDS REQUESTS\n");
    return 2;
  }
  if (!backends_read(argv[1])) return 2;
  long count = atol(argv[2]);
  setlinebuf(stdout);
  pool_start();
  requests_start();
  for (long sent = 0; sent < count;) {
    sent += request_send((int)draw((unsigned)backends_count()), 1 + (long)draw(3));
    requests_receive();
    if (requests_waiting() == 0 && pool_free() == 0) break; // there is no slot for anybody any more
  }
  while (requests_waiting() > 0)
    requests_receive();
  requests_stop();
  statistics_print();
  printf("%d of %d slots free\n", pool_free(), kSlots);
  if (pool_free() != kSlots) abort();
  return 0;
}
